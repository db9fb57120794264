# Makes a C++ source of the page: cmake -DPAGE=page.html -DSTYLES=a.css,b.css -DSCRIPTS=a.js,b.js
# -DOUTPUT=page.cpp -P embed.cmake. All files but the output are in the directory of this file.
# Styles and scripts become part of the page, with their hashes, which its policy allows by name.

# The value for a Content-Security-Policy: the hash in base64, which no CMake command computes.
function(policy_hash text result)
  string(SHA256 hex "${text}")
  set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(encoded "")
  foreach(at RANGE 0 60 6)  # three bytes at a time; the last group has two
    string(SUBSTRING "${hex}0000" ${at} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING ${letters} ${digit} 1 letter)
      string(APPEND encoded ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${encoded} 0 43 encoded)
  set(${result} "sha256-${encoded}=" PARENT_SCOPE)
endfunction()

function(read_all names result)
  set(all "")
  string(REPLACE "," ";" names "${names}")
  foreach(name ${names})
    file(READ ${CMAKE_CURRENT_LIST_DIR}/${name} text)
    string(APPEND all "${text}")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

read_all("${PAGE}" page)
read_all("${STYLES}" style)
read_all("${SCRIPTS}" script)
policy_hash("${style}" style_hash)
policy_hash("${script}" script_hash)
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 behind)
foreach(part before behind)
  string(REPLACE "@STYLE_HASH@" "${style_hash}" ${part} "${${part}}")
  string(REPLACE "@SCRIPT_HASH@" "${script_hash}" ${part} "${${part}}")
  string(REPLACE "@STYLE@" "${style}" ${part} "${${part}}")
  string(REPLACE "@SCRIPT@" "${script}" ${part} "${${part}}")
endforeach()
# The pragma: C++ asks compilers for 64 KiB in a literal, and those that we use allow more.
file(WRITE ${OUTPUT} "#include \"report/format/export/html_page.h\"\n\n\
#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n\
namespace heapattach {\n\nnamespace {\n\n\
constexpr std::string_view kBefore = R\"page(${before})page\";\n\
constexpr std::string_view kBehind = R\"page(${behind})page\";\n\n}  // namespace\n\n\
std::string_view html_before_data() {\n  return kBefore;\n}\n\n\
std::string_view html_behind_data() {\n  return kBehind;\n}\n\n}  // namespace heapattach\n")
