package faultcorpus_test

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// oneAddress leaves the network a single address for pods until the case ends.
func (s *scene) oneAddress() {
	s.t.Helper()
	text, err := os.ReadFile(s.networkFile())
	if err != nil {
		s.t.Fatal(err)
	}
	put := func(text, has string) {
		if err := os.WriteFile(s.networkFile(), []byte(text), 0o600); err != nil {
			s.t.Error(err)
		}
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			r, err := s.runtime.Status(context.WithoutCancel(s.t.Context()), &runtimeapi.StatusRequest{Verbose: true})
			if err == nil && strings.Contains(r.Info["cniconfig"], "rangeStart") == (has != "") && strings.Contains(r.Info["cniconfig"], "moody") {
				return
			}
		}
		s.t.Error("containerd does not read the network's configuration")
	}
	address := strings.TrimSuffix(s.Subnet, ".0.0/16") + ".200.200"
	s.t.Cleanup(func() { put(string(text), "") })
	put(strings.Replace(string(text), `"gateway"`, fmt.Sprintf(`"rangeStart": %q, "rangeEnd": %q, "gateway"`, address, address), 1), "rangeStart")
}

func networkAgain() []fault {
	const class = "network"
	fails := []string{"KL06", "KL08", "KL14", "KL15", "KL16", "KL38"}
	return []fault{
		{
			name: "r2-cni-garbage", class: class, want: []string{"KL07"}, silent: fails,
			does: "A plugin succeeds, and its answer is a page of HTML.",
			make: func(s *scene) {
				s.plugin("garbage")
				s.set(s.pod("web"))
				s.waits("web", trace.WaitBackoff, 3)
			},
		},
		{
			name: "r2-ipam-exhausted", class: class, want: []string{"KL07"}, silent: fails,
			does: "The plugin host-local has one address in its range, and another pod has it.",
			make: func(s *scene) {
				s.oneAddress()
				other := s.pod("other")
				s.set(other)
				s.ready("other")
				s.set(other, s.pod("web"))
				s.waits("web", trace.WaitBackoff, 3)
			},
		},
		{
			name: "r2-cni-del-hangs", class: class, want: []string{"KL17"}, silent: []string{"KL06", "KL07", "KL14", "KL15", "KL16"},
			does: "A plugin does not return from DEL: the pod's network is not removed for 20 s so far.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.ready("web")
				s.plugin("hang-del")
				s.set()
				s.calls("web", "StopPodSandbox", trace.EdgeBegin)
				s.lasts(20 * time.Second)
			},
		},
		{
			name: "r2-cni-del-2s", class: class, silent: allBut(),
			does: "A plugin takes 2 s for DEL; then the pod is gone.",
			make: func(s *scene) {
				s.set(s.pod("web"))
				s.ready("web")
				s.plugin("slow-del")
				s.set()
				s.reached("web", trace.MilestoneGone)
			},
		},
		{
			name: "r2-neighbor-cni-hangs", class: class, silent: allBut(),
			does: "The network of another pod hangs, and this one's is set up as usual.",
			make: func(s *scene) {
				s.plugin("hang-others")
				other := s.pod("other")
				s.set(other)
				s.calls("other", "RunPodSandbox", trace.EdgeBegin)
				s.lasts(3 * time.Second)
				s.set(other, s.pod("web"))
				s.ready("web")
			},
		},
		{
			name: "r2-behind-hanging", class: class, want: []string{"KL29"}, silent: []string{"KL06", "KL07", "KL14", "KL15", "KL26"},
			does: "The networks of as many pods as the runtime has slots hang; this one's would be set up as usual.",
			make: func(s *scene) {
				s.plugin("hang-others")
				var pods []*v1.Pod
				for n := range 2 * goruntime.NumCPU() {
					pods = append(pods, s.pod(fmt.Sprintf("other-%d", n)))
				}
				s.set(pods...)
				s.calls("other-0", "RunPodSandbox", trace.EdgeBegin)
				s.lasts(time.Second)
				s.set(append(pods, s.pod("web"))...)
				s.ready("web")
			},
		},
	}
}
