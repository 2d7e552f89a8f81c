package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"
)

// TestMountPropagation has a container mount a file system in a volume: another container of the pod sees it, and so does the host, below the
// agent's root directory, which the agent makes a shared mount where the host's mounts are private, as here without systemd.
func TestMountPropagation(t *testing.T) {
	b := setup(t)
	b.node(t)
	s := b.space(t)
	p := pod("propagates", "trap 'umount /v/inner; exit 0' TERM; mkdir /v/inner; mount -t tmpfs none /v/inner; touch /v/inner/here; while :; do sleep 1 & wait $!; done")
	p.Spec.TerminationGracePeriodSeconds = new(int64(20))
	p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: new(true)}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", MountPropagation: new(v1.MountPropagationBidirectional)}}
	sees := container("sees", forever)
	sees.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", MountPropagation: new(v1.MountPropagationHostToContainer)}}
	sees.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"test", "-e", "/v/inner/here"}}}, PeriodSeconds: 1}
	p.Spec.Containers = append(p.Spec.Containers, sees)
	s.create(p)
	s.ready("propagates")
	inner := func() bool {
		all, err := mountinfo.GetMounts(mountinfo.PrefixFilter(b.nodePath()))
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(m *mountinfo.Info) bool { return strings.HasSuffix(m.Mountpoint, "/v/inner") })
	}
	if !inner() {
		t.Error("the host does not see the mount")
	}
	s.delete(-1, "propagates")
	s.gone()
	if inner() {
		t.Error("the mount is left")
	}
}
