package kubeletlog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestReplaced: a pod is added while one of its name still terminates. What is told of each is told of this one, by its UID.
func TestReplaced(t *testing.T) {
	const (
		addFile    = `"SyncLoop ADD" source="file" pods=["kube-system/etcd"]`
		removeFile = `"SyncLoop REMOVE" source="file" pods=["kube-system/etcd"]`
		addAPI     = `"SyncLoop ADD" source="api" pods=["kube-system/etcd"]`
		deleteAPI  = `"SyncLoop DELETE" source="api" pods=["kube-system/etcd"]`
		removeAPI  = `"SyncLoop REMOVE" source="api" pods=["kube-system/etcd"]`
		killOld    = `"Killing container with a grace period" pod="kube-system/etcd" podUID="u1" containerName="etcd" containerID="containerd://aaaaaaaaaaa2" gracePeriod=30`
		firstOld   = `"Pod is being synced for the first time" pod="kube-system/etcd" podUID="u1" updateType="create"`
		firstNew   = `"Pod is being synced for the first time" pod="kube-system/etcd" podUID="u2" updateType="create"`
		doneOld    = `"Pod is complete and the worker can now stop" podUID="u1"`
		goneOld    = `"Pod removed broadcasted" podUID="u1"`
		volumeNew  = `"operationExecutor.VerifyControllerAttachedVolume started for volume \"a\" (UniqueName: \"kubernetes.io/configmap/u2-a\") pod \"etcd\" (UID: \"u2\") " pod="kube-system/etcd"`
		later      = `00:50.0 I "another line"`
	)
	pleg := func(uid, kind, id string) string {
		return fmt.Sprintf(`"SyncLoop (PLEG): event for pod" pod="kube-system/etcd" event={"ID":%q,"Type":%q,"Data":%q}`, uid, kind, id)
	}
	at := func(s, body string) string { return s + " I " + body }
	ran := func(add string) []string {
		return []string{at("00:01.0", add), at("00:01.1", `"No sandbox for pod can be found. Need to start a new one" pod="kube-system/etcd"`), at("00:02.0", pleg("u1", "ContainerStarted", "aaaaaaaaaaa1")), at("00:02.0", pleg("u1", "ContainerStarted", "aaaaaaaaaaa2"))}
	}
	runs := []string{at("00:25.0", pleg("u2", "ContainerStarted", "bbbbbbbbbbb1")), at("00:25.0", pleg("u2", "ContainerStarted", "bbbbbbbbbbb2"))}
	for name, c := range map[string]struct {
		log  []string
		want []string
	}{
		"the manifest of a static pod changes, V2": {
			append(append(ran(addFile),
				at("00:20.0", removeFile), at("00:20.0", addFile), at("00:20.1", killOld), at("00:22.0", `"Generic (PLEG): container finished" podID="u1" containerID="aaaaaaaaaaa2" exitCode=0`),
				at("00:22.1", goneOld), at("00:24.0", `"Trying to delete pod" pod="kube-system/etcd" podUID="3c1f0c3e-0000-4000-8000-000000000000"`), at("00:24.1", removeAPI), at("00:24.2", addAPI),
			), append(runs, later)...),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u2 seen", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone", "25s u2 started", "25s u2 ready"},
		},
		"the manifest of a static pod changes, V4": {
			append(append(ran(addFile),
				at("00:20.0", removeFile), at("00:20.0", addFile), at("00:20.1", firstNew), at("00:20.1", killOld), at("00:22.0", pleg("u1", "ContainerDied", "aaaaaaaaaaa2")), at("00:22.1", doneOld),
			), append(runs, later)...),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u2 seen", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone", "25s u2 started", "25s u2 ready"},
		},
		"a static pod comes back with its UID": {
			append(ran(addFile), at("00:20.0", removeFile), at("00:20.5", addFile), at("00:20.6", killOld), at("00:22.1", goneOld), at("00:25.0", pleg("u1", "ContainerStarted", "bbbbbbbbbbb1")), at("00:25.0", pleg("u1", "ContainerStarted", "bbbbbbbbbbb2")), later),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u1 seen", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone", "25s u1 started", "25s u1 ready"},
		},
		"a static pod comes back with its UID, before Kubernetes 1.36": {
			append(ran(addFile), at("00:20.0", removeFile), at("00:20.5", addFile), at("00:20.6", killOld), at("00:22.0", pleg("u1", "ContainerDied", "aaaaaaaaaaa2")), at("00:22.0", pleg("u1", "ContainerDied", "aaaaaaaaaaa1")), at("00:25.0", pleg("u1", "ContainerStarted", "bbbbbbbbbbb1")), at("00:25.0", pleg("u1", "ContainerStarted", "bbbbbbbbbbb2")), later),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u1 seen", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone", "25s u1 started", "25s u1 ready"},
		},
		"it is added, and removed before it starts": {
			append(ran(addFile), at("00:20.0", removeFile), at("00:20.0", addFile), at("00:20.1", killOld), at("00:21.0", removeFile), at("00:22.0", pleg("u1", "ContainerDied", "aaaaaaaaaaa2")), at("00:22.1", goneOld), later),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone"},
		},
		"its deletion is forced": {
			append(append(ran(addAPI), at("00:20.0", removeAPI), at("00:20.2", addAPI), at("00:20.25", volumeNew), at("00:20.3", killOld), at("00:22.0", pleg("u1", "ContainerDied", "aaaaaaaaaaa2")), at("00:22.2", doneOld)), append(runs, later)...),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "20s u2 seen", "20s u1 kill etcd", "22s u1 kill etcd", "22s u1 gone", "25s u2 started", "25s u2 ready"},
		},
		"a late line of the one before": {
			append(append(ran(addAPI), at("00:20.0", deleteAPI), at("00:21.0", removeAPI), at("00:21.1", addAPI), at("00:21.2", `"Pod does not exist on the server" podUID="u1" pod="kube-system/etcd"`), at("00:21.3", firstNew), at("00:21.4", `"No sandbox for pod can be found. Need to start a new one" pod="kube-system/etcd"`)), append(runs, later)...),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready", "20s u1 terminating", "21s u1 gone", "21s u2 seen", "25s u2 started", "25s u2 ready"},
		},
		"the mirror of a static pod is deleted": {
			append(ran(addFile), at("00:03.0", addAPI), at("00:20.0", deleteAPI), at("00:20.1", `"Trying to delete pod" pod="kube-system/etcd" podUID="3c1f0c3e-0000-4000-8000-000000000000"`), at("00:20.2", removeAPI), at("00:20.3", addAPI), later),
			[]string{"1s u1 seen", "2s u1 started", "2s u1 ready"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, lines(c.log...))
			var got []string
			for i := range recs {
				r := &recs[i]
				switch e := r.Event.(type) {
				case *trace.Action:
					got = append(got, fmt.Sprintf("%ds %s %s", r.At().Second(), r.Pod.UID, e.ID))
				case *trace.Milestone:
					got = append(got, fmt.Sprintf("%ds %s %s", r.At().Second(), r.Pod.UID, e.Name))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
