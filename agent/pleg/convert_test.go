package pleg

import (
	"maps"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestStopSignalOf(t *testing.T) {
	for signal, want := range map[runtimeapi.Signal]string{
		runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT:     "", // a runtime that does not report it
		runtimeapi.Signal_SIGNAL_SIGQUIT:             "SIGQUIT",
		runtimeapi.Signal_SIGNAL_SIGRTMIN:            "SIGRTMIN",
		runtimeapi.Signal_SIGNAL_SIGRTMINPLUS15:      "SIGRTMIN+15",
		runtimeapi.Signal_SIGNAL_SIGRTMAXMINUS1:      "SIGRTMAX-1",
		runtimeapi.Signal_SIGNAL_SIGRTMAX:            "SIGRTMAX",
		runtimeapi.Signal_SIGNAL_SIGRTMAX + 10_000:   "", // of a later CRI
		runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT - 1: "",
	} {
		if got := containerOf(&runtimeapi.ContainerStatus{StopSignal: signal}, "s").StopSignal; got != want {
			t.Errorf("%v: %q, want %q", signal, got, want)
		}
	}
}

func TestImageMountsOf(t *testing.T) {
	got := containerOf(&runtimeapi.ContainerStatus{Mounts: []*runtimeapi.Mount{
		{ContainerPath: "/data", Image: &runtimeapi.ImageSpec{Image: "sha256:1"}}, {ContainerPath: "/disk", HostPath: "/x"}, {ContainerPath: "/none", Image: &runtimeapi.ImageSpec{}},
	}}, "s").ImageMounts
	if want := map[string]string{"/data": "sha256:1"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := containerOf(&runtimeapi.ContainerStatus{}, "s").ImageMounts; got != nil {
		t.Errorf("%v without mounts", got)
	}
}

// The termination message is in the file that is mounted at the path of the spec, which need not be absolute or clean.
func TestTerminationLogOf(t *testing.T) {
	for spec, mounted := range map[string]string{
		"/dev/termination-log": "/dev/termination-log", "dev/termination-log": "/dev/termination-log", "/tmp//why/": "/tmp/why", "/tmp/./why": "/tmp/./why", "": "/",
	} {
		got := containerOf(&runtimeapi.ContainerStatus{
			Annotations: map[string]string{"io.kubernetes.container.terminationMessagePath": spec},
			Mounts:      []*runtimeapi.Mount{{ContainerPath: "/data", HostPath: "/x"}, {ContainerPath: mounted, HostPath: "/log"}},
		}, "s").TerminationLog
		if want := map[bool]string{true: "/log"}[spec != ""]; got != want {
			t.Errorf("%q: %q, want %q", spec, got, want)
		}
	}
}
