package faultcorpus_test

import (
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// loops sets the pod, and waits until its container has to wait before a restart.
func (s *scene) loops(p *v1.Pod) {
	s.t.Helper()
	s.set(p)
	s.waits("web", trace.WaitBackoff, 1)
	s.lasts(6 * time.Second)
}

// hostDir is a directory of the node, with a file in it.
func (s *scene) hostDir(name, text string, mode os.FileMode) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "files")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// mounted adds a directory of the node to the pod's app container.
func mounted(p *v1.Pod, name, dir, path string, readOnly bool) {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}}})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
}

func startFaults() []fault {
	return []fault{
		{
			name: "start-not-found", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL05", "KL15", "KL33", "KL36"},
			does: "The image does not have the program of the command.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].Command = []string{"/opt/shop/serve", "--port=8080"}
				s.loops(p)
			},
		},
		{
			name: "start-not-executable", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL15", "KL33", "KL34", "KL36"},
			does: "The command is a script of a volume without the executable bit.",
			make: func(s *scene) {
				p := s.pod("web")
				mounted(p, "scripts", s.hostDir("run.sh", "#!/bin/sh\nsleep infinity\n", 0o644), "/scripts", false)
				p.Spec.Containers[0].Command = []string{"/scripts/run.sh"}
				s.loops(p)
			},
		},
		{
			name: "start-exec-format", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL15", "KL32", "KL36", "KL17"},
			does: "An init container writes a script without its first line, #!, and the app cannot execute it; its log goes into its message.",
			make: func(s *scene) {
				p := s.prepared("echo 'sleep infinity' > /work/run; chmod +x /work/run", "/work/run")
				p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
				s.loops(p)
			},
		},
		{
			name: "start-mount-read-only", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL09", "KL10", "KL15", "KL34", "KL36"},
			does: "A volume is mounted into another one that is read-only and does not have that directory.",
			make: func(s *scene) {
				p := s.pod("web")
				dir := s.hostDir("x", "", 0o644)
				mounted(p, "data", dir, "/data", true)
				mounted(p, "cache", dir, "/data/cache", false)
				s.loops(p)
			},
		},
		{
			name: "start-workdir-file", class: workload, want: []string{"KL31"}, may: []string{"KL27"}, silent: []string{"KL10", "KL15", "KL33", "KL36"},
			does: "The working directory is a file.",
			make: func(s *scene) {
				p := s.pod("web")
				p.Spec.Containers[0].WorkingDir = "/bin/busybox"
				s.loops(p)
			},
		},
		{
			name: "start-shell-127", class: workload, want: []string{"KL33"}, silent: []string{"KL27", "KL31", "KL36", "KL15"},
			does: "The program was started: it is a shell, which then does not find what it is to run. The pod is not restarted.",
			make: func(s *scene) {
				s.set(s.once("sleep 1; no-such-tool --now"))
				s.phase("web", trace.PodFailed)
				s.lasts(4 * time.Second)
			},
		},
		{
			name: "start-shell-126", class: workload, want: []string{"KL27"}, silent: []string{"KL31", "KL36", "KL15", "KL32"},
			does: "The program was started: it is a shell, which then must not execute a file of its own. It exits with 126 again and again.",
			make: func(s *scene) {
				s.loops(s.runs("web", "echo 'echo hello' > /tmp/tool; sleep 1; /tmp/tool"))
			},
		},
	}
}
