# Libraries that tfc makes of tensor programs, for GNU Make.
#
#   include $(shell tfc --cmakedir)/tfc.mk
#   $(eval $(call tfc_library,digits,model.py:classify,demo::Digits))
#   classify: main.cc digits.a
#
# makes digits.h and digits.a of a file that `tfcompile --graph` reads, and the programs digits_test
# and digits_benchmark. The fourth argument, if any, is further flags of tfcompile.

TFCOMPILE ?= tfcompile
TFC_SOURCES := $(dir $(lastword $(MAKEFILE_LIST)))

define tfc_library
$(1).h $(1).tfc.o &: $$(wildcard $(2))
	$$(TFCOMPILE) --graph $(2) --cpp_class $(3) --out_header $(1).h --out_function_object $(1).tfc.o $(4)
$(1).a: $(1).tfc.o
	rm -f $$@ && $$(AR) rcs $$@ $$<
$(1)_test $(1)_benchmark: $(1)_%: $$(TFC_SOURCES)%.cc $(1).a $(1).h
	$$(CXX) -std=c++11 -O2 $$(CXXFLAGS) -I. -DTFC_HEADER='"$(1).h"' -DTFC_CLASS=$(3) $$< $(1).a -lm -o $$@
endef
