noinst_LIBRARIES += liblaunchers.a
liblaunchers_a_SOURCES = \
	%D%/entrycmd.c \
	%D%/launcher.c %D%/launcher.h \
	%D%/plain.c \
	%D%/torch.c
