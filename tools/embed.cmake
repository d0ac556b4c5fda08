# SPDX-License-Identifier: Apache-2.0
# Writes a file's bytes as a list for a C array, so that they become part of the program with any
# compiler:
#   cmake -DINPUT=file -DOUTPUT=file.inc -P embed.cmake
# and in C: static const unsigned char bytes[] = {
#           #include "file.inc"
#           };
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUTPUT}" "${hex}\n")
