# Makes the packages. If SOURCE_DATE_EPOCH is set, as dpkg-buildpackage does, their bytes depend only
# on the sources.
set(CPACK_GENERATOR "TGZ;DEB")
if(HEAPATTACH_STATIC)
  string(TOLOWER heapattach-${CMAKE_SYSTEM_PROCESSOR}-${CMAKE_SYSTEM_NAME} CPACK_PACKAGE_FILE_NAME)
endif()
set(CPACK_PACKAGE_CONTACT "heapattach maintainers <heapattach@example.org>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "what is in the heap of a live process with the Boehm GC")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Shows what is in the heap of a running process that uses the Boehm-Demers-Weiser
collector, as Crystal programs do: objects and bytes per type, or every object
with its edges. The process is stopped only while its heap is copied, and is not changed.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For the library that programs may link; cpack itself would make scripts that call ldconfig.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/shlibs ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
