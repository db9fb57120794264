# Writes the man page: cmake -DPROGRAM=… -DVERSION=… -DTEMPLATE=… -DOUTPUT=… -P man_page.cmake
execute_process(COMMAND ${PROGRAM} --help all OUTPUT_VARIABLE HELP COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\e" HELP "${HELP}")
string(REPLACE "-" "\\-" HELP "${HELP}")
# A line that begins with a dot or an apostrophe would be a request.
string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" HELP "${HELP}")
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
