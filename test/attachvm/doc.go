// Package attachvm runs kubeloupe attach and kubeloupe proxy on a node as operators have them, in a virtual machine: see test/vm/node.
//
// It is not part of make test: make attach-vm runs it. It needs root, and takes about half an hour on two processors.
package attachvm
