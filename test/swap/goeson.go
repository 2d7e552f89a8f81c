package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trial is something that continues, if it does.
type trial struct {
	name string
	run  func(context.Context) error
}

// goesOn tries what the new agent must do for pods that it did not start.
func (s *swap) goesOn(ctx context.Context) {
	trials := []trial{
		{"exec and logs", s.streams},
		{"volumes are updated", s.updates},
		{"the token is valid", s.token},
		{"probes fail and recover", s.probes},
		{"restarts are counted on", s.restarts},
		{"a new pod", s.newPod},
	}
	if s.round == 1 {
		trials = append(trials, trial{"pods end", func(ctx context.Context) error { return s.end(ctx, "subpaths", "secured", "guaranteed") }})
	}
	s.try(ctx, trials...)
}

func (s *swap) try(ctx context.Context, trials ...trial) {
	for _, t := range trials {
		begin := time.Now()
		if err := t.run(ctx); err != nil {
			s.fail("%s: %v", t.name, err)
			continue
		}
		fmt.Printf("ok    %s (%s)\n", t.name, time.Since(begin).Round(time.Millisecond))
	}
}

func (s *swap) kubectl(ctx context.Context, args ...string) (string, error) {
	out, err := s.cluster.Kubectl(ctx, append([]string{"-n", namespace}, args...)...)
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return out, err
}

func (s *swap) exec(ctx context.Context, pod, container, script string) (string, error) {
	return s.kubectl(ctx, "exec", pod, "-c", container, "--", "sh", "-c", script)
}

func (s *swap) streams(ctx context.Context) error {
	if out, err := s.exec(ctx, "volumes", "main", "echo $GREETING $(cat /disk/note 2>/dev/null) > /disk/note && cat /keys/key"); err != nil || out != "sesame" {
		return fmt.Errorf("exec: %q, %w", out, errors.Join(err))
	}
	_, err := s.kubectl(ctx, "logs", "probes", "--all-containers")
	return err
}

// updates changes a ConfigMap and an annotation, and waits until the pod's files say so.
func (s *swap) updates(ctx context.Context) error {
	word := fmt.Sprintf("word-%d", s.round)
	if _, err := s.kubectl(ctx, "patch", "configmap", "words", "--type=merge", "-p", `{"data":{"greeting":"`+word+`"}}`); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "annotate", "--overwrite", "pod", "volumes", "note="+word); err != nil {
		return err
	}
	return await(ctx, 2*time.Minute, func() error {
		out, err := s.exec(ctx, "volumes", "main", "cat /words/greeting /all/greeting /down/note | tr '\\n' ' '")
		if err == nil && strings.Count(out, word) != 3 {
			err = fmt.Errorf("files say %q, want %s three times", out, word)
		}
		return err
	})
}

func (s *swap) token(ctx context.Context) error {
	text, err := s.exec(ctx, "volumes", "main", "cat /all/token")
	if err != nil {
		return err
	}
	r, err := s.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: text, Audiences: []string{"swap"}},
	}, metav1.CreateOptions{})
	if err == nil && !r.Status.Authenticated {
		err = fmt.Errorf("not authenticated: %s", r.Status.Error)
	}
	return err
}

func (s *swap) probes(ctx context.Context) error {
	for _, step := range []struct {
		script string
		ready  bool
	}{{"rm /e/ready", false}, {"touch /e/ready", true}} {
		if _, err := s.exec(ctx, "probes", "exec", step.script); err != nil {
			return err
		}
		if err := s.awaitPod(ctx, "probes", 30*time.Second, func(p *v1.Pod) bool { return ready(p) == step.ready }); err != nil {
			return fmt.Errorf("%s: %w", step.script, err)
		}
	}
	return nil
}

func (s *swap) restarts(ctx context.Context) error {
	before, err := s.client.CoreV1().Pods(namespace).Get(ctx, "restarted", metav1.GetOptions{})
	if err != nil {
		return err
	}
	want := before.Status.ContainerStatuses[0].RestartCount + 1
	if _, err := s.exec(ctx, "restarted", "main", "kill 1"); err != nil {
		return err
	}
	return s.awaitPod(ctx, "restarted", 2*time.Minute, func(p *v1.Pod) bool {
		return ready(p) && p.Status.ContainerStatuses[0].RestartCount == want
	})
}

func (s *swap) newPod(ctx context.Context) error {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: namespace},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: s.fill("${HTTP}")}}},
	}
	if _, err := s.client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := s.awaitPod(ctx, "new", time.Minute, ready); err != nil {
		return err
	}
	return s.end(ctx, "new")
}

func (s *swap) awaitPod(ctx context.Context, name string, limit time.Duration, is func(*v1.Pod) bool) error {
	return await(ctx, limit, func() error {
		p, err := s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !is(p) {
			err = fmt.Errorf("pod %s is %s", name, gist(p))
		}
		return err
	})
}

// end deletes pods and waits until nothing of them is left.
func (s *swap) end(ctx context.Context, names ...string) error {
	for _, name := range names {
		p, err := s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := s.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		err = await(ctx, time.Minute, func() error {
			if _, err := s.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("pod %s is still there: %w", name, errors.Join(err))
			}
			return s.leftOf(ctx, string(p.UID), name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOf tells what is left of a pod.
func (s *swap) leftOf(ctx context.Context, uid, name string) error {
	f := facts{}
	s.seeMounts(f)
	s.seeCgroups(f)
	if err := s.seeRuntime(ctx, f); err != nil {
		return err
	}
	for k := range f {
		if strings.Contains(k, uid) || strings.HasPrefix(k, "sandbox "+name+" ") {
			return fmt.Errorf("pod %s left %s", name, k)
		}
	}
	return nil
}

// ending lets the pod that waits continue, and then ends all.
func (s *swap) ending(ctx context.Context) {
	fmt.Printf("\n== the end\n")
	s.try(ctx, trial{"the pod that initialized goes on", func(ctx context.Context) error {
		if _, err := s.exec(ctx, "initializing", "wait", "touch /e/go"); err != nil {
			return err
		}
		return s.awaitPod(ctx, "initializing", 30*time.Second, ready)
	}}, trial{"all end", func(ctx context.Context) error {
		if err := os.Remove(s.staticFile()); err != nil {
			return err
		}
		if _, err := s.kubectl(ctx, "delete", "deployment,statefulset,daemonset,job,pod", "--all", "--timeout=90s"); err != nil {
			return err
		}
		return await(ctx, time.Minute, func() error { return s.nothingLeft(ctx) })
	}})
	if _, err := s.kubectl(ctx, "delete", "pvc", "--all"); err != nil {
		s.note("%v", err)
	}
	if out, err := s.cluster.Kubectl(ctx, "delete", "-f", filepath.Join(s.cluster.Dir, "swap.yaml"), "--ignore-not-found", "--wait=false"); err != nil {
		s.note("%s", out)
	}
}

func (s *swap) nothingLeft(ctx context.Context) error {
	f, err := s.see(ctx)
	if err != nil {
		return err
	}
	for k := range f {
		kind, rest, _ := strings.Cut(k, " ")
		switch kind {
		case "sandbox", "container", "mount", "pod":
			return fmt.Errorf("%s is left", k)
		case "directory":
			if strings.HasPrefix(rest, "pods/") {
				return fmt.Errorf("%s is left", k)
			}
		case "cgroup":
			if strings.HasPrefix(filepath.Base(rest), "pod") {
				return fmt.Errorf("%s is left", k)
			}
		}
	}
	return nil
}
