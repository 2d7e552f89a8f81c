package kubeevent

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestFailedVolume(t *testing.T) {
	for message, want := range map[string]struct {
		volume string
		class  trace.FailureClass
	}{
		`AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                                                     {"pvc-1", trace.FailDeadline},
		`Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) web-0`:                                                                                            {"pvc-1", ""},
		`MountVolume.SetUp failed for volume "keys" : secret "keys" not found`:                                                                                                    {"keys", trace.FailObject},
		`MountVolume.SetUp failed for volume "keys" : failed to sync secret cache: timed out waiting for the condition`:                                                           {"keys", trace.FailObject},
		`MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: etcdserver: leader changed`:                                                             {"kube-api-access-x", trace.FailObject},
		`Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[]: timed out waiting for the condition`:                                                 {},
		`Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC shop/store: PVC is not bound`: {"store", trace.FailUnbound},
		`MountVolume.SetUp failed for volume "` + "a\x1bb" + `" : x`:                                                                                                              {`a\u001bb`, ""},
	} {
		for _, reason := range []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume"} {
			if name, class := FailedVolume(reason, message); name != want.volume || class != want.class {
				t.Errorf("%s: %q, %q", message, name, class)
			}
		}
		if name, _ := FailedVolume("Pulled", message); name != "" {
			t.Errorf("another Event: %s", name)
		}
	}
}
