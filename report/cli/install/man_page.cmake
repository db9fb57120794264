# Writes the man page: cmake -DPROGRAM=… -DVERSION=… -DTEMPLATE=… -DOUTPUT=… -P man_page.cmake
execute_process(COMMAND ${PROGRAM} help man OUTPUT_VARIABLE OPTIONS COMMAND_ERROR_IS_FATAL ANY)
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
