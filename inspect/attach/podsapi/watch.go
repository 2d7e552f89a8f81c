package podsapi

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	podsv1alpha1 "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/podobject"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxMessage bounds an event of the API.
	maxMessage = 4 << 20
	// late is how late the kubelet tells at most, as measured.
	late = 5 * time.Millisecond
)

// Watch passes on records of pods until ctx or the watch ends, which is an error. socket is the path of the API.
func Watch(ctx context.Context, socket string, put func(trace.Record)) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	stream, err := podsv1alpha1.NewPodsClient(conn).WatchPods(ctx, &podsv1alpha1.WatchPodsRequest{})
	if err != nil {
		return fmt.Errorf("watch the pods: %w", err)
	}
	f := podobject.NewFold(trace.ObserverKubeletAPI, late)
	for {
		e, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("watch the pods: %w", err)
		}
		recs, err := take(f, e, time.Now())
		if err != nil {
			return err
		}
		for i := range recs {
			put(recs[i])
		}
	}
}

// take takes an event in, and returns the records of what changed.
func take(f *podobject.Fold, e *podsv1alpha1.WatchPodsEvent, now time.Time) ([]trace.Record, error) {
	if e.Type == podsv1alpha1.EventType_INITIAL_SYNC_COMPLETE {
		f.Synced()
		return nil, nil
	}
	var pod v1.Pod
	if err := pod.Unmarshal(e.Pod); err != nil {
		return nil, fmt.Errorf("read a pod: %w", err)
	}
	if e.Type == podsv1alpha1.EventType_DELETED {
		f.Gone(&pod)
		return nil, nil
	}
	return f.Apply(&pod, now), nil
}
