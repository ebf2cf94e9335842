# SPDX-License-Identifier: Apache-2.0
# SERRIED_SANITIZER: --enable-sanitizer=address,undefined
AC_DEFUN([SERRIED_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST], [build with -fsanitize=LIST])],
    [], [enable_sanitizer=])
  AS_IF([test "x$enable_sanitizer" != x && test "x$enable_sanitizer" != xno],
    [SAN_CFLAGS="-fsanitize=$enable_sanitizer -fno-sanitize-recover=all -fno-omit-frame-pointer"
     AC_DEFINE([HAVE_SANITIZER], [1], [Built with a sanitizer])])
  AC_SUBST([SAN_CFLAGS])
])
