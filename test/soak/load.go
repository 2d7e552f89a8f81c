package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// settling is how long the agent has to come to rest before it is counted.
const settling = 8 * time.Second

// tally is what became of the pods.
type tally struct {
	done atomic.Int64
	mu   sync.Mutex
	errs []error
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

func (t *tally) failed() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errs
}

// part has so many pods come and go, spread over the time until shortly before until.
func (s *soak) part(ctx context.Context, pods int, until time.Time) error {
	every := max(0, time.Until(until)-settling-5*time.Second) / time.Duration(pods)
	slots := make(chan struct{}, s.alive)
	var work sync.WaitGroup
	defer work.Wait()
	for i := range pods {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		work.Go(func() {
			defer func() { <-slots }()
			if err := s.life(ctx, i); err != nil && ctx.Err() == nil {
				s.tally.fail(err)
			}
			s.tally.done.Add(1)
		})
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
		if !s.agent.Alive() {
			return fmt.Errorf("the agent ended; see %s", s.agent.LogFile)
		}
	}
	work.Wait()
	select {
	case <-time.After(settling):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// life is that of one pod: made, deleted in one way or another, gone.
func (s *soak) life(ctx context.Context, i int) error {
	api := s.client.CoreV1().Pods(namespace)
	p := s.pod(i)
	made, err := api.Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	var opts metav1.DeleteOptions
	switch {
	case i%10 == 3: // while it starts
		time.Sleep(time.Duration(i%7) * 40 * time.Millisecond)
	case i%10 == 7: // by force
		opts.GracePeriodSeconds = new(int64(0))
		fallthrough
	default:
		if err := s.awaitPod(ctx, p.Name, started); err != nil {
			return err
		}
	}
	if err := api.Delete(ctx, p.Name, opts); err != nil {
		return err
	}
	if err := s.awaitGone(ctx, p.Name, made.UID); err != nil {
		return err
	}
	if i%10 != 7 {
		return nil
	}
	// Its name is taken again at once, while the runtime may still have the first.
	again := s.pod(i)
	if made, err = api.Create(ctx, again, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = s.awaitPod(ctx, again.Name, started)
	return errors.Join(err, api.Delete(ctx, again.Name, metav1.DeleteOptions{}), s.awaitGone(ctx, again.Name, made.UID))
}

func started(p *v1.Pod) bool {
	if p.Status.Phase == v1.PodSucceeded {
		return true
	}
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func (s *soak) awaitPod(ctx context.Context, name string, is func(*v1.Pod) bool) error {
	var last *v1.Pod
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		var err error
		if last, err = s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if is(last) {
			return nil
		}
	}
	return fmt.Errorf("pod %s does not start: %s, %v", name, last.Status.Phase, last.Status.ContainerStatuses)
}

func (s *soak) awaitGone(ctx context.Context, name string, uid types.UID) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		p, err := s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && p.UID != uid:
			return nil
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("pod %s does not end", name)
}

// pod makes a pod of one of five kinds.
func (s *soak) pod(i int) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: namespace},
		Spec: v1.PodSpec{
			NodeName: lab.NodeName, TerminationGracePeriodSeconds: new(int64(2)),
			Containers: []v1.Container{{Name: "main", Image: s.cluster.Image(lab.ImageHTTP)}},
		},
	}
	c := &p.Spec.Containers[0]
	switch i % 5 {
	case 1: // ends by itself
		p.Spec.RestartPolicy = v1.RestartPolicyNever
		c.Image, c.Command = s.cluster.Image(lab.ImageBusybox), []string{"sh", "-c", "echo done"}
	case 2: // files of the cluster
		p.Spec.Volumes = []v1.Volume{
			{Name: "c", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: namespace}}}},
			{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: namespace}}},
			{Name: "m", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
		}
		c.VolumeMounts = []v1.VolumeMount{{Name: "c", MountPath: "/c"}, {Name: "s", MountPath: "/s"}, {Name: "m", MountPath: "/m", SubPath: "sub"}}
	case 3: // probes
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{
			HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr8080()},
		}}
		p.Spec.Containers[0].LivenessProbe = &v1.Probe{PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr8080()}}}
	case 4: // init, a sidecar, a hook
		init := v1.Container{Name: "init", Image: s.cluster.Image(lab.ImageBusybox), Command: []string{"true"}}
		side := v1.Container{
			Name: "side", Image: s.cluster.Image(lab.ImageBusybox), RestartPolicy: new(v1.ContainerRestartPolicyAlways),
			Command: []string{"sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"},
			Lifecycle: &v1.Lifecycle{
				PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}},
				PreStop:   &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 1}},
			},
		}
		p.Spec.InitContainers = []v1.Container{init, side}
	}
	return p
}
