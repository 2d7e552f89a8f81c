package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Dial connects to the lab's CRI endpoint. The caller closes the connection.
func (l *Lab) Dial() (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(l.RuntimeEndpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", l.RuntimeEndpoint, err)
	}
	return conn, nil
}

// Ready reports why the lab's runtime cannot start pods, or nil if it can.
func (l *Lab) Ready(ctx context.Context) error {
	conn, err := l.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	status, err := cri.NewRuntimeServiceClient(conn).Status(ctx, &cri.StatusRequest{})
	if err != nil {
		return err
	}
	for _, c := range status.GetStatus().GetConditions() {
		if (c.Type == "RuntimeReady" || c.Type == "NetworkReady") && !c.Status {
			return fmt.Errorf("not %s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

// Pull pulls images of the lab's registry into containerd, at the same time.
func (l *Lab) Pull(ctx context.Context, images ...Image) error {
	conn, err := l.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewImageServiceClient(conn)
	group, ctx := errgroup.WithContext(ctx)
	for _, i := range images {
		if err := checkImage(i); err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			spec := &cri.ImageSpec{Image: l.Image(i)}
			if st, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: spec}); err == nil && st.Image != nil {
				return nil
			}
			if _, err := client.PullImage(ctx, &cri.PullImageRequest{Image: spec}); err != nil {
				return fmt.Errorf("pull %s: %w", spec.Image, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// RemovePods stops and removes every sandbox of the lab, four at a time.
func (l *Lab) RemovePods(ctx context.Context) error {
	conn, err := l.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewRuntimeServiceClient(conn)
	list, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	var (
		mu   sync.Mutex
		errs []error
		work errgroup.Group
	)
	work.SetLimit(4)
	for _, pod := range list.Items {
		work.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			_, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: pod.Id})
			if err == nil {
				_, err = client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: pod.Id})
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("remove sandbox %s: %w", pod.Id, err))
			}
			return nil
		})
	}
	_ = work.Wait() // its functions return no error
	return errors.Join(errs...)
}
