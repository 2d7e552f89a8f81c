package faultcorpus_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// limited has the laboratory's registry send so many bytes a second until the case ends.
func (s *scene) limited(rate int64) {
	s.t.Helper()
	if err := s.SetLimits(s.t.Context(), lab.Limits{Rate: rate}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.SetLimits(context.WithoutCancel(s.t.Context()), lab.Limits{}) })
}

func pullFaults() []fault {
	const class = "pull"
	return []fault{
		{
			name: "pull-slow-bytes", class: class, want: []string{"KL02"}, silent: []string{"KL01", "KL03", "KL04", "KL05", "KL15"},
			does: "60 MiB come at 8 MiB a second.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(8 << 20)
				s.set(s.image("web", s.Image(lab.Image60M)))
				s.ready("web")
			},
		},
		{
			name: "pull-stalls", class: class, want: []string{"KL02"}, silent: []string{"KL01", "KL03", "KL05", "KL15", "KL16"},
			does: "The transfer of a layer stops in its middle; nothing has come for 25 s.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				addr := s.front(false, func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
						return false
					}
					resp, err := http.Get("http://" + s.Registry + r.URL.Path)
					if err != nil {
						return false
					}
					defer func() { _ = resp.Body.Close() }()
					if resp.ContentLength < 8<<20 {
						return false
					}
					w.Header().Set("Content-Length", resp.Header.Get("Content-Length"))
					part := make([]byte, 1<<20)
					for range 3 {
						n, _ := resp.Body.Read(part)
						_, _ = w.Write(part[:n])
					}
					w.(*untilEnd).ResponseWriter.(http.Flusher).Flush()
					return hang(w, r)
				})
				s.set(s.image("web", ref(addr, lab.Image60M)))
				s.calls("web", "PullImage", trace.EdgeBegin)
				s.lasts(25 * time.Second)
			},
		},
		{
			name: "pull-another-pods", class: class, want: []string{"KL01"}, may: []string{"KL02"}, silent: []string{"KL05", "KL15", "KL26"},
			does: "Another pod pulls the same image already, slowly.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(10 << 20)
				first := s.image("first", s.Image(lab.Image60M))
				s.set(first)
				s.calls("first", "PullImage", trace.EdgeBegin)
				s.set(first, s.image("web", s.Image(lab.Image60M)))
				s.ready("web")
			},
		},
		{
			name: "pull-its-own", class: class, want: []string{"KL02"}, silent: []string{"KL01", "KL05", "KL15", "KL26"},
			does: "Two containers of the pod have one image: the second waits for the first one's pull. No other pod is there.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(10 << 20)
				p := s.image("web", s.Image(lab.Image60M))
				other := *p.Spec.Containers[0].DeepCopy()
				other.Name = "other"
				p.Spec.Containers = append(p.Spec.Containers, other)
				podspec.SetDefaults(p)
				s.set(p)
				s.ready("web")
			},
		},
		{
			name: "pull-of-pause", class: class, want: []string{"KL38"}, silent: []string{"KL06", "KL07", "KL15", "KL14"},
			does: "The sandbox's image is not on the node, and the registry takes 5 s to answer for it, inside RunPodSandbox.",
			make: func(s *scene) {
				pause := s.Image(lab.ImagePause)
				if _, err := s.images.RemoveImage(s.t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: pause}}); err != nil {
					s.t.Fatal(err)
				}
				if err := s.SetLimits(s.t.Context(), lab.Limits{Latency: 2500 * time.Millisecond}); err != nil {
					s.t.Fatal(err)
				}
				s.t.Cleanup(func() {
					_ = s.SetLimits(context.WithoutCancel(s.t.Context()), lab.Limits{})
					if err := s.Pull(context.WithoutCancel(s.t.Context()), lab.ImagePause); err != nil {
						s.t.Error(err)
					}
				})
				s.set(s.pod("web"))
				s.ready("web")
			},
		},
		{
			name: "pull-no-space", class: class, want: []string{"KL05"}, silent: []string{"KL01", "KL02", "KL15"},
			does: "Containerd's content store has 4 MiB left for what it pulls.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.small(4 << 20)
				s.set(s.image("web", s.Image(lab.Image60M)))
				s.waits("web", trace.WaitBackoff, 1)
				s.lasts(6 * time.Second)
			},
		},
		{
			name: "pull-not-needed", class: class, want: []string{"KL21"}, silent: []string{"KL01", "KL02", "KL03", "KL05"},
			does: "Another pod's pull is slow, and this pod has its image: an init container takes 6 s.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(4 << 20)
				first := s.image("first", s.Image(lab.Image60M))
				s.set(first)
				s.calls("first", "PullImage", trace.EdgeBegin)
				p := s.pod("web")
				p.Spec.InitContainers = []v1.Container{{Name: "migrate", Image: p.Spec.Containers[0].Image, Command: []string{"sleep", "6"}}}
				podspec.SetDefaults(p)
				s.set(first, p)
				s.ready("web")
			},
		},
		{
			name: "pull-recovered", class: class, want: []string{"KL05"}, silent: []string{"KL01", "KL02", "KL15"},
			does: "The registry failed for the first two attempts, then the pod starts.",
			make: func(s *scene) {
				var n atomic.Int32
				addr := s.front(false, func(w http.ResponseWriter, r *http.Request) bool {
					if n.Add(1) > 12 {
						return false
					}
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				})
				s.set(s.image("web", ref(addr, lab.ImageHTTP)))
				s.ready("web")
			},
		},
	}
}
