package say

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestFirstSchema: the facts that are parsed from the sentences of the first schema about a wait.
func TestFirstSchema(t *testing.T) {
	for _, c := range []struct {
		kind       trace.WaitKind
		on, detail string
		want       trace.Wait
	}{
		{trace.WaitQueue, "container runtime", "3 of 3 slots busy, 7 in the queue", trace.Wait{Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 3, Busy: 3, Ahead: 7}},
		{trace.WaitQueue, "volume operations", "4 of 4 slots busy, 0 in the queue", trace.Wait{Target: trace.Target{Kind: trace.TargetVolumeSlots}, Size: 4, Busy: 4}},
		{trace.WaitQueue, "writes of other pods' statuses", "4 at a time", trace.Wait{Target: trace.Target{Kind: trace.TargetStatuses}, Size: 4}},
		{trace.WaitQueue, "the slot that another step of the pod waits for", "", trace.Wait{Target: trace.Target{Kind: trace.TargetStepSlot}}},
		{trace.WaitOtherPull, "a place among the pulls", "1 at a time", trace.Wait{Target: trace.Target{Kind: trace.TargetPulls}, Size: 1}},
		{trace.WaitOtherPull, "app:1", "another pod pulls this image already", trace.Wait{Target: trace.Target{Kind: trace.TargetImage, Name: "app:1"}}},
		{trace.WaitBackoff, "container web to be restarted", "CrashLoopBackOff", trace.Wait{Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"}},
		{trace.WaitBackoff, "container status-x to be tried again", "ErrImagePull", trace.Wait{Target: trace.Target{Kind: trace.TargetContainer, Name: "status-x"}, Reason: "ErrImagePull"}},
		{
			trace.WaitBackoff, "containers a, b to be tried again", "a: ErrImagePull, b: CrashLoopBackOff",
			trace.Wait{Target: trace.Target{Kind: trace.TargetContainer, Name: "a"}, More: []trace.Held{{Name: "b", Reason: "CrashLoopBackOff"}}, Reason: "ErrImagePull"},
		},
		{trace.WaitBackoff, "the next try", "", trace.Wait{Target: trace.Target{Kind: trace.TargetRetry}}},
		{trace.WaitBackoff, "the next try after an error", "sandbox: cni plugin not initialized", trace.Wait{
			Target: trace.Target{Kind: trace.TargetRetry}, Cause: "sandbox: cni plugin not initialized", Class: trace.FailNetwork, Note: "sandbox: cni plugin not initialized",
		}},
		{trace.WaitBackoff, "volume status-x", "next attempt 1s after the last: no space", trace.Wait{
			Target: trace.Target{Kind: trace.TargetVolume, Name: "status-x"}, Cause: "next attempt 1s after the last: no space", Note: "next attempt 1s after the last: no space",
		}},
		{trace.WaitBackoff, "https://h/pods", "next try in 1s after 2 failed: 503", trace.Wait{
			Target: trace.Target{Kind: trace.TargetAddress, Name: "https://h/pods"}, Cause: "next try in 1s after 2 failed: 503", Note: "next try in 1s after 2 failed: 503",
		}},
		{trace.WaitBackoff, "the API server, to take statuses", "", trace.Wait{Target: trace.Target{Kind: trace.TargetStatuses}}},
		{trace.WaitBackoff, "lease of the node", "", trace.Wait{Target: trace.Target{Kind: trace.TargetLease}}},
		{trace.WaitBackoff, "serving certificate", "", trace.Wait{Target: trace.Target{Kind: trace.TargetCertificate, Name: "serving"}}},
		{trace.WaitBackoff, "claim of volume data", "", trace.Wait{Target: trace.Target{Kind: trace.TargetClaim, Name: "data"}}},
		{trace.WaitGrace, "container web to end", "at most 30 s", trace.Wait{Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Limit: 30 * time.Second}},
		{trace.WaitGrace, "the preStop hook of container web", "at most 0 s", trace.Wait{Target: trace.Target{Kind: trace.TargetHook, Name: "preStop", Container: "web"}}},
		{trace.WaitHook, "hook of web", "exec [sleep 1]", trace.Wait{Target: trace.Target{Kind: trace.TargetHook, Container: "web"}, Note: "exec [sleep 1]"}},
		{trace.WaitProbe, "readiness probe of web", "the next attempt is in 9.8s", trace.Wait{Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}, Until: 109_800_000_000}},
		{trace.WaitInit, "init container migrate", "", trace.Wait{Target: trace.Target{Kind: trace.TargetInitContainer, Name: "migrate"}}},
		{trace.WaitObject, "secret shop/keys", "", trace.Wait{Target: trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "keys"}}},
		{trace.WaitObject, "token of shop/default", "", trace.Wait{Target: trace.Target{Kind: trace.TargetToken, Namespace: "shop", Name: "default"}}},
		{trace.WaitObject, "RuntimeClass gvisor", "", trace.Wait{Target: trace.Target{Kind: trace.TargetRuntimeClass, Name: "gvisor"}}},
		{trace.WaitObject, "the first list of services", "", trace.Wait{Target: trace.Target{Kind: trace.TargetList, Name: "services"}}},
		{trace.WaitObject, "certificate for volume tls", "", trace.Wait{Target: trace.Target{Kind: trace.TargetPodCertificate, Name: "tls"}}},
		{trace.WaitApproval, "signing request csr-1", "kubectl certificate approve csr-1", trace.Wait{Target: trace.Target{Kind: trace.TargetRequest, Name: "csr-1"}, Note: "kubectl certificate approve csr-1"}},
		{trace.WaitCredentials, "ecr", "r.io/app", trace.Wait{Target: trace.Target{Kind: trace.TargetProvider, Namespace: "r.io/app", Name: "ecr"}, Note: "r.io/app"}},
		{trace.WaitPod, "the earlier pod of this name to be gone", "of one name only one may run", trace.Wait{Target: trace.Target{Kind: trace.TargetEarlierPod}}},
		{trace.WaitPod, "2 pods that give way to this one", "", trace.Wait{Target: trace.Target{Kind: trace.TargetPods}, Ahead: 2}},
		{trace.WaitLock, "--lock-file /l", "held", trace.Wait{Target: trace.Target{Kind: trace.TargetLockFile, Name: "/l"}, Note: "held"}},
		{trace.WaitRuntime, "the pod network", "cni config not initialized", trace.Wait{
			Target: trace.Target{Kind: trace.TargetNetwork}, Cause: "cni config not initialized", Class: trace.FailNetwork, Note: "cni config not initialized",
		}},
		{trace.WaitAttach, "CSI driver nfs.csi.k8s.io", "it has to register", trace.Wait{Target: trace.Target{Kind: trace.TargetDriver, Name: "nfs.csi.k8s.io"}, Note: "it has to register"}},
		{trace.WaitLock, "something that nobody knows", "", trace.Wait{Target: trace.Target{Kind: trace.TargetOther, Name: "something that nobody knows"}}},
	} {
		line := fmt.Sprintf(`{"seq":1,"time":"1970-01-01T00:01:40.000000000Z","kind":"pod.wait","edge":"begin","event":{"for":%q,"on":%q,"detail":%q}}`, c.kind, c.on, c.detail)
		var r trace.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		w, _ := r.Event.(*trace.Wait)
		c.want.For = c.kind
		if got, want := fmt.Sprintf("%+v", *w), fmt.Sprintf("%+v", c.want); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.on, got, want)
		}
	}
}

// TestWords: the words for waits of the current schema.
func TestWords(t *testing.T) {
	begun := time.Unix(100, 0)
	until := begun.Add(1500 * time.Millisecond).UnixNano()
	for _, c := range []struct {
		wait       trace.Wait
		on, detail string
	}{
		{trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetWatch}, Tries: 3, Until: until, Cause: "refused"}, "the API server, to watch pods", "3 attempts failed, next in 1.5s: refused"},
		{trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatus}, Tries: 3}, "the API server, to accept the pod's status", "3 attempts failed"},
		{trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetLease}, Until: until, Cause: "refused"}, "lease of the node", "next attempt in 1.5s: refused"},
		{trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Until: until, Cause: "no disk"}, "the retry after an error", "no disk"},
		{trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetClient, Name: "main"}, Every: 20 * time.Millisecond, Burst: 100}, "client throttling", "the main client may send 50 requests per second, 100 at once"},
		{trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetryAfter, Name: "get configmaps"}, Tries: 1, Cause: "status 429", Until: until}, "the API server's Retry-After", "get configmaps: status 429, retry in 1.5s"},
		{trace.Wait{For: trace.WaitTokens, Target: trace.Target{Kind: trace.TargetEvents}, Every: time.Second / 3, Burst: 1}, "events to the API server", "3 per second, 1 at once"},
		{trace.Wait{For: trace.WaitGate, Target: trace.Target{Kind: trace.TargetDelay}, Limit: 3 * time.Second}, "a delay of 3s", ""},
		{trace.Wait{For: trace.WaitLock, Target: trace.Target{Kind: trace.TargetVolume, Name: "data"}, Doing: "teardown"}, "volume data", "teardown of the same volume is in progress"},
		{trace.Wait{For: trace.WaitApproval, Target: trace.Target{Kind: trace.TargetRequest, Name: "csr-1"}}, "signing request csr-1", "kubectl certificate approve csr-1"},
	} {
		if on, detail := On(&c.wait), Detail(&c.wait, begun.UnixNano()); on != c.on || detail != c.detail {
			t.Errorf("got %q, %q, want %q, %q", on, detail, c.on, c.detail)
		}
	}
}
