# What belongs to a program beside it. The program itself writes the man page's list of options and
# the completions of the shells, from its table of options.
set(man_page ${CMAKE_CURRENT_BINARY_DIR}/heapattach.1)
set(man_template ${CMAKE_CURRENT_LIST_DIR}/heapattach.1.in)
set(man_script ${CMAKE_CURRENT_LIST_DIR}/man_page.cmake)
add_custom_command(OUTPUT ${man_page}
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:heapattach> -DVERSION=${PROJECT_VERSION}
    -DTEMPLATE=${man_template} -DOUTPUT=${man_page} -P ${man_script}
  DEPENDS heapattach ${man_template} ${man_script} VERBATIM)

# Compressed as Debian requires: without a time or a name in the header.
find_program(GZIP gzip REQUIRED)
set(packed_files "")
function(install_compressed file destination)
  cmake_path(GET file FILENAME name)
  set(packed ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz)
  add_custom_command(OUTPUT ${packed} COMMAND ${GZIP} -9nc ${file} > ${packed} DEPENDS ${file} VERBATIM)
  install(FILES ${packed} DESTINATION ${destination})
  set(packed_files ${packed_files} ${packed} PARENT_SCOPE)
endfunction()
install_compressed(${man_page} ${CMAKE_INSTALL_MANDIR}/man1)
configure_file(${CMAKE_CURRENT_LIST_DIR}/heapattach-watchdog.1.in heapattach-watchdog.1 @ONLY)
install_compressed(${CMAKE_CURRENT_BINARY_DIR}/heapattach-watchdog.1 ${CMAKE_INSTALL_MANDIR}/man1)
install_compressed(${CMAKE_CURRENT_LIST_DIR}/changelog ${CMAKE_INSTALL_DOCDIR})
add_custom_target(heapattach_man ALL DEPENDS ${packed_files})

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
  ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/report/schema
  DESTINATION ${CMAKE_INSTALL_DATADIR}/heapattach)
install(FILES ${PROJECT_SOURCE_DIR}/report/examples/read_snapshot.py
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/heapattach-serve.service DESTINATION lib/systemd/system)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/integration/ci/heapattach-watchdog
  ${PROJECT_SOURCE_DIR}/integration/containers/kubectl-heapattach TYPE BIN)
add_custom_target(heapattach_completions)
function(install_completion shell name destination)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/completions/${name})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/completions
    COMMAND $<TARGET_FILE:heapattach> help ${shell} > ${file}
    DEPENDS heapattach VERBATIM)
  add_custom_target(heapattach_${shell}_completion ALL DEPENDS ${file})
  add_dependencies(heapattach_completions heapattach_${shell}_completion)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination})
endfunction()
install_completion(bash heapattach bash-completion/completions)
install_completion(zsh _heapattach zsh/vendor-completions)
install_completion(fish heapattach.fish fish/vendor_completions.d)
