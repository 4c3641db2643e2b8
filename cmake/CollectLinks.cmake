# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ashlar_collect_links(ROOTS PATTERN RESULT): the targets whose names match
# PATTERN that the roots reach through what they link, themselves included.
function(ashlar_collect_links roots pattern result)
  set(pending ${roots})
  set(found)
  while(pending)
    list(POP_FRONT pending next)
    if(next IN_LIST found OR NOT next MATCHES "${pattern}")
      continue()
    endif()
    list(APPEND found ${next})
    get_target_property(links ${next} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND pending ${links})
    endif()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()
