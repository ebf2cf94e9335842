# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libemulator.a
libemulator_a_SOURCES = \
	%D%/cgroups.c %D%/cgroups.h \
	%D%/control.c %D%/control.h \
	%D%/devices.c %D%/devices.h \
	%D%/emulation.c %D%/emulation.h %D%/emulation_parts.h \
	%D%/enter.c %D%/enter.h \
	%D%/fault.c %D%/fault.h \
	%D%/folders.c %D%/folders.h \
	%D%/halt.c %D%/halt.h \
	%D%/host.c %D%/host.h \
	%D%/hostfs.c %D%/hostfs.h \
	%D%/hostnames.c %D%/hostnames.h \
	%D%/isolated.c %D%/isolated.h %D%/isolated_open.c \
	%D%/layers.c %D%/layers.h \
	%D%/logs.c %D%/logs.h \
	%D%/loose.c \
	%D%/mounts.c %D%/mounts.h \
	%D%/namespaces.c %D%/namespaces.h \
	%D%/netlink.c %D%/netlink.h \
	%D%/rack.c %D%/rack.h %D%/rack_ops.h \
	%D%/rackd.c %D%/rackd.h %D%/rackd_hosts.c %D%/rackd_message.c %D%/rackd_parts.h \
	%D%/sdk.c %D%/sdk.h \
	%D%/sdk_check.c %D%/sdk_check.h \
	%D%/state.c %D%/state.h \
	%D%/switch.c %D%/switch.h \
	%D%/tree.c %D%/tree.h \
	%D%/troubles.c \
	%D%/watch.c %D%/watch.h

# A preload for hosts without isolation: no libtool for one file, and no sanitizer in it.
EMULATED_NAMES = %D%/emulated-names.so
emulatedlibdir = $(libexecdir)/serried
emulatedlib_DATA = $(EMULATED_NAMES)
$(EMULATED_NAMES): $(srcdir)/%D%/names.c
	@$(MKDIR_P) %D%
	$(AM_V_CCLD)$(CC) -I. $(WARN_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $(srcdir)/%D%/names.c -ldl
CLEANFILES += $(EMULATED_NAMES)
EXTRA_DIST += %D%/names.c
