package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settled returns what the node has with no pods on it.
func (b *bench) settled(t *testing.T) map[string]bool {
	t.Helper()
	eventually(t, "a node without pods", func() string {
		list, err := b.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for thing := range b.things(t) {
			if len(list.Items) > 0 || thing[:8] == "sandbox " {
				return fmt.Sprintf("%d pods, %s", len(list.Items), thing)
			}
		}
		return ""
	})
	return b.things(t)
}

// withVolumes is a pod with what has to be cleaned up.
func withVolumes(name, script string) *v1.Pod {
	p := pod(name, script)
	p.Spec.AutomountServiceAccountToken = nil
	p.Spec.InitContainers = []v1.Container{container("init", "true")}
	for _, medium := range []v1.StorageMedium{v1.StorageMediumDefault, v1.StorageMediumMemory} {
		volume := "dir" + fmt.Sprint(len(p.Spec.Volumes))
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: volume, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium}}})
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: volume, MountPath: "/" + volume})
	}
	return p
}

// TestChurn deletes pods at bad moments, after which nothing is left of them.
func TestChurn(t *testing.T) {
	b := setup(t)
	b.node(t)
	before := b.settled(t)
	t.Run("deleted while starting", func(t *testing.T) {
		s := b.space(t)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				name := fmt.Sprintf("p%d", i)
				s.create(withVolumes(name, forever))
				time.Sleep(rand.N(500 * time.Millisecond))
				grace := int64(-1)
				if i%5 == 0 {
					grace = 0
				}
				s.delete(grace, name)
			})
		}
		all.Wait()
		s.gone()
		b.nothingLeft(t, before)
	})
	t.Run("same name again", func(t *testing.T) {
		s := b.space(t)
		var last v1.Pod
		for i := range 8 {
			s.create(withVolumes("same", forever))
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			if i == 7 {
				break
			}
			s.delete(int64(i%2), "same")
			eventually(t, "the name to be free", func() string {
				if p, err := s.get("same"); err == nil {
					return short(p)
				}
				return ""
			})
		}
		s.ready("same")
		p, err := s.get("same")
		if err != nil {
			t.Fatal(err)
		}
		if last = *p; last.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("the last of that name: %s", short(p))
		}
		s.delete(-1, "same")
		s.gone()
		b.nothingLeft(t, before)
	})
	t.Run("force-deleted", func(t *testing.T) {
		s := b.space(t)
		var names []string
		for i := range 8 {
			names = append(names, fmt.Sprintf("p%d", i))
			s.create(withVolumes(names[i], "trap '' TERM; while :; do sleep 1; done"))
		}
		s.ready(names...)
		s.delete(0, names...)
		s.gone()
		b.nothingLeft(t, before)
	})
}

// TestMany starts and ends many pods at once; a node has 110 by default.
func TestMany(t *testing.T) {
	b := setup(t)
	b.node(t)
	before := b.settled(t)
	s := b.space(t)
	var names []string
	began := time.Now()
	for i := range *many {
		names = append(names, fmt.Sprintf("p%d", i))
		s.create(pod(names[i], forever))
	}
	within(t, 3*time.Minute, "ready pods", func() string {
		list, err := s.client.CoreV1().Pods(s.name).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		n := 0
		for i := range list.Items {
			if isReady(&list.Items[i]) {
				n++
			}
		}
		if n == len(names) {
			return ""
		}
		return fmt.Sprintf("%d are", n)
	})
	t.Logf("%d pods are ready after %s", *many, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	s.delete(-1, names...)
	within(t, 3*time.Minute, "no pods", func() string {
		list, err := s.client.CoreV1().Pods(s.name).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		if len(list.Items) > 0 {
			return fmt.Sprintf("%d are left", len(list.Items))
		}
		return ""
	})
	t.Logf("they are gone after %s", time.Since(began).Round(time.Millisecond))
	b.nothingLeft(t, before)
}
