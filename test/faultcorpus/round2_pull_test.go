package faultcorpus_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// pausing sends 3 MiB of the first large layer, and the rest after a pause.
func (s *scene) pausing(pause time.Duration) answers {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") || r.Method != http.MethodGet {
			return false
		}
		resp, err := http.Get("http://" + s.Registry + r.URL.Path)
		if err != nil {
			return false
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.ContentLength < 8<<20 || n.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Length", resp.Header.Get("Content-Length"))
		_, _ = io.CopyN(w, resp.Body, 3<<20)
		w.(*untilEnd).ResponseWriter.(http.Flusher).Flush()
		time.Sleep(pause)
		_, _ = io.Copy(w, resp.Body)
		return true
	}
}

func pullAgain() []fault {
	const class = "pull"
	return []fault{
		{
			name: "r2-blob-resumes", class: class, want: []string{"KL02"}, silent: []string{"KL01", "KL03", "KL05", "KL15", "KL37"},
			does: "The transfer of one layer stops for 9 s in its middle, and then continues by itself.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				addr := s.front(false, s.pausing(9*time.Second))
				s.set(s.image("web", ref(addr, lab.Image60M)))
				s.pulled("web")
				s.forget(ref(addr, lab.Image60M))
			},
		},
		{
			name: "r2-init-image-large", class: class, want: []string{"KL02"}, silent: []string{"KL01", "KL03", "KL05", "KL15", "KL21", "KL27", "KL37"},
			does: "The init container has 60 MiB, which come at 10 MiB a second, and then runs for 0.2 s.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(10 << 20)
				p := s.pod("web")
				p.Spec.InitContainers = []v1.Container{{Name: "migrate", Image: s.Image(lab.Image60M), Command: []string{"sleep", "0.2"}}}
				podspec.SetDefaults(p)
				s.set(p)
				s.pulled("web")
			},
		},
		{
			name: "r2-cached-large", class: class, silent: allBut(),
			does: "The image has 60 MiB, and is on the node. The registry is slow, and nobody asks it.",
			make: func(s *scene) {
				if err := s.Pull(s.t.Context(), lab.Image60M); err != nil {
					s.t.Fatal(err)
				}
				s.limited(1 << 20)
				s.set(s.image("web", s.Image(lab.Image60M)))
				s.ready("web")
			},
		},
		{
			name: "r2-deleted-while-pulling", class: class, may: []string{"KL02"}, silent: allBut("KL02"),
			does: "The pod is deleted while its image comes slowly; it is gone at once.",
			make: func(s *scene) {
				s.forget(s.Image(lab.Image60M))
				s.limited(3 << 20)
				s.set(s.image("web", s.Image(lab.Image60M)))
				s.calls("web", "PullImage", trace.EdgeBegin)
				s.lasts(6 * time.Second)
				s.set()
				s.reached("web", trace.MilestoneGone)
				s.lasts(2 * time.Second)
			},
		},
	}
}
