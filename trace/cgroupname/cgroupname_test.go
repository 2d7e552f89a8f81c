package cgroupname

import "testing"

const uid = "11111111-2222-3333-4444-555555555555"

func TestPod(t *testing.T) {
	for base, want := range map[string]string{
		"pod" + uid: uid,
		"kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice": uid,
		"kubelet-kubepods-pod11111111_2222_3333_4444_555555555555.slice":   uid,
		"kubepods-besteffort-pod0123456789abcdef0123456789abcdef.slice":    "0123456789abcdef0123456789abcdef",
		"pod0123456789abcdef0123456789abcdef":                              "0123456789abcdef0123456789abcdef",
		"burstable":                                                        "", "kubepods-besteffort.slice": "", "notpod" + uid: "", "": "", ".slice": "", "pod": "",
		"kubepods-burstable-notpod1.slice": "", "kubepods-pod" + uid: "",
	} {
		if got := Pod(base); got != want {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
	}
}

func TestContainer(t *testing.T) {
	for base, want := range map[string]string{
		"0a1b": "0a1b", "crio-0a1b": "0a1b", "cri-containerd-0a1b.scope": "0a1b", "crio-conmon-0a1b.scope": "0a1b", "cgroup.procs": "cgroup.procs", "": "", ".scope": "",
	} {
		if got := Container(base); got != want {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
	}
}
