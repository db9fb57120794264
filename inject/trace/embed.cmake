# Writes the bytes of the file BLOB as a C++ source. Run as: cmake -DBLOB=... -DOUTPUT=... -P embed.cmake
file(READ ${BLOB} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
  "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"inject/trace/blob.h\"\n\nnamespace heapattach::trace {\n\n"
  "extern const unsigned char kBlobBytes[] = {\n${bytes}};\n"
  "extern const unsigned kBlobSize = sizeof kBlobBytes;\n\n}  // namespace heapattach::trace\n")
