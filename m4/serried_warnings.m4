# SPDX-License-Identifier: Apache-2.0
# SERRIED_WARNINGS: the warnings that are errors, unless --disable-werror.
AC_DEFUN([SERRIED_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--disable-werror], [warnings do not stop the build])],
    [], [enable_werror=yes])
  WARN_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla"
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
