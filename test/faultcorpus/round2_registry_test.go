package faultcorpus_test

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// once429 answers the first request for a manifest with 429.
func once429() answers {
	var n atomic.Int32
	limit := status(http.StatusTooManyRequests, "TOOMANYREQUESTS", "slow down")
	return func(w http.ResponseWriter, r *http.Request) bool { return n.Load() == 0 && limit(w, r) && n.Add(1) > 0 }
}

// orphan pulls an image from a registry, at whose address then nobody listens. It returns the image's name.
func (s *scene) orphan() string {
	s.t.Helper()
	addr := s.front(false, func(http.ResponseWriter, *http.Request) bool { return false })
	name := ref(addr, lab.ImageHTTP)
	if _, err := s.images.PullImage(s.t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: name}}); err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.host(addr, "http://"+l.Addr().String())
	return name
}

func registryAgain() []fault {
	const class = "registry"
	return []fault{
		{
			name: "r2-429-once", class: class, silent: allBut(),
			does: "The registry answers the first request with 429, and then serves: the runtime asks again at once.",
			make: func(s *scene) {
				s.set(s.image("web", ref(s.front(false, once429()), lab.ImageHTTP)))
				s.pulled("web")
			},
		},
		{
			name: "r2-token-at-once", class: class, silent: allBut(),
			does: "The registry answers 401 with a challenge, as most do, and its token comes at once.",
			make: func(s *scene) {
				s.set(s.image("web", ref(s.front(false, withToken(0)), lab.ImageHTTP)))
				s.pulled("web")
			},
		},
		{
			name: "r2-401-for-a-while", class: class, want: []string{"KL05"}, silent: []string{"KL01", "KL02", "KL03", "KL04", "KL15", "KL37"},
			does: "The registry refuses the first pull with 401, and has let the node in by the second one.",
			make: func(s *scene) {
				var open atomic.Bool
				addr := s.front(false, func(w http.ResponseWriter, _ *http.Request) bool {
					if open.Load() {
						return false
					}
					w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = fmt.Fprint(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
					return true
				})
				s.set(s.image("web", ref(addr, lab.ImageHTTP)))
				s.waits("web", trace.WaitBackoff, 1)
				open.Store(true)
				s.pulled("web")
			},
		},
		{
			name: "r2-always-dead", class: class, want: []string{"KL05"}, silent: []string{"KL01", "KL02", "KL03", "KL15", "KL22", "KL37"},
			does: "The image is on the node and its pull policy is Always; nobody listens at the registry's address.",
			make: func(s *scene) {
				p := s.image("web", s.orphan())
				p.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
				s.set(p)
				s.waits("web", trace.WaitBackoff, 2)
				s.lasts(6 * time.Second)
			},
		},
		{
			name: "r2-present-dead", class: class, silent: allBut(),
			does: "The image is on the node and its pull policy is IfNotPresent; nobody listens at the registry's address.",
			make: func(s *scene) {
				s.set(s.image("web", s.orphan()))
				s.ready("web")
			},
		},
	}
}
