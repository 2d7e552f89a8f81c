//go:build !linux

package faultcorpus_test

// small is Linux's, as containerd is.
func (s *scene) small(int) { s.t.Fatal("containerd needs Linux") }
