package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// sceneNamespace has the pods of which contents tell.
const sceneNamespace = "contents"

// scene is what an agent runs while its contents are read: pods in all usual states, and some that have devices, claims and a CPU for themselves.
type scene struct {
	cluster *lab.Cluster
	client  kubernetes.Interface
}

// set creates the objects and pods, and waits until each pod is where it stays.
func (s scene) set(ctx context.Context) error {
	if err := s.objects(ctx); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the plugins' devices", s.offered); err != nil {
		return err
	}
	pods := s.client.CoreV1().Pods(sceneNamespace)
	for _, p := range append(s.pods(), s.claimants()...) {
		err := s.eventually(ctx, p.Name, func(ctx context.Context) error { // the namespace's account comes a moment later
			_, err := pods.Create(ctx, p, metav1.CreateOptions{})
			return ignoreExists(err)
		})
		if err != nil {
			return err
		}
	}
	if err := s.static(); err != nil {
		return err
	}
	for name, arrived := range settled {
		if err := s.await(ctx, name, arrived); err != nil {
			return err
		}
	}
	if err := s.remove(ctx, "brief"); err != nil {
		return err
	}
	return s.await(ctx, "crash", crashed)
}

func (s scene) await(ctx context.Context, name string, arrived func(*v1.Pod) bool) error {
	return s.eventually(ctx, name, func(ctx context.Context) error {
		p, err := s.client.CoreV1().Pods(sceneNamespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !arrived(p) {
			err = fmt.Errorf("%s: %s %v", p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses)
		}
		return err
	})
}

// settled says when each pod is where it stays.
var settled = map[string]func(*v1.Pod) bool{
	"web": isReady, "holder": isReady, "sharer": isReady, "brief": isReady, "fixed-" + lab.NodeName: isReady,
	"once":    func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded },
	"refused": func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed },
	"missing": backsOff,
}

// backsOff reports whether the pull of the image failed some time ago.
func backsOff(p *v1.Pod) bool {
	st := p.Status.ContainerStatuses
	return len(st) == 1 && st[0].State.Waiting != nil && st[0].State.Waiting.Reason == "ImagePullBackOff"
}

// crashed reports whether the container has failed so often that it stays as it is for minutes.
func crashed(p *v1.Pod) bool {
	st := p.Status.ContainerStatuses
	return len(st) == 1 && st[0].RestartCount >= 4 && st[0].State.Waiting != nil && st[0].State.Waiting.Reason == "CrashLoopBackOff"
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

const patience = 5 * time.Minute

// eventually tries until there is no error.
func (s scene) eventually(ctx context.Context, what string, try func(context.Context) error) error {
	end := time.Now().Add(patience)
	for {
		err := try(ctx)
		switch {
		case err == nil:
			return nil
		case time.Now().After(end) || ctx.Err() != nil:
			return fmt.Errorf("%s: %w", what, errors.Join(ctx.Err(), err))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// offered says which device the node does not offer.
func (s scene) offered(ctx context.Context) error {
	node, err := s.client.CoreV1().Nodes().Get(ctx, lab.NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, name := range []v1.ResourceName{alphaResource, betaResource} {
		if q := node.Status.Allocatable[name]; q.Value() != deviceCount {
			return fmt.Errorf("the node offers %s of %s", q.String(), name)
		}
	}
	return nil
}

// objects creates what the pods refer to.
func (s scene) objects(ctx context.Context) error {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	class := &resourceapi.DeviceClass{ObjectMeta: meta(draClass)}
	class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + draDriver + `"`}}}
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: meta("one")}
	template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "it", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: draClass}}}
	for _, create := range []func() error{
		func() error {
			_, err := s.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: meta(sceneNamespace)}, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := s.client.CoreV1().ConfigMaps(sceneNamespace).Create(ctx, &v1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"key": "value"}}, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := s.client.CoreV1().Secrets(sceneNamespace).Create(ctx, &v1.Secret{ObjectMeta: meta("hidden"), StringData: map[string]string{"word": "quiet"}}, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := s.client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := s.client.ResourceV1().ResourceClaimTemplates(sceneNamespace).Create(ctx, template, metav1.CreateOptions{})
			return err
		},
	} {
		if err := ignoreExists(create()); err != nil {
			return err
		}
	}
	return nil
}

// pod is one with a container.
func (s scene) pod(name, script string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(1)), AutomountServiceAccountToken: new(false),
		Containers: []v1.Container{{Name: "main", Image: s.cluster.Image(lab.ImageBusybox), Command: []string{"sh", "-c", script}}},
	}}
}

const forever = "echo out; sleep 1; echo err >&2; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"

// pods are those without devices.
func (s scene) pods() []*v1.Pod {
	web := s.pod("web", forever)
	web.Labels, web.Annotations = map[string]string{"app": "web"}, map[string]string{"example.com/note": "x"}
	spec := &web.Spec
	spec.AutomountServiceAccountToken = nil
	spec.Volumes = []v1.Volume{
		{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}}}},
		{Name: "secret", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "hidden"}}},
		{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: resource.NewQuantity(1<<20, resource.BinarySI)}}},
		{Name: "labels", VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
		}}}},
	}
	first := spec.Containers[0]
	first.Name, first.Command = "first", []string{"echo", "first"}
	side := spec.Containers[0]
	side.Name, side.RestartPolicy = "side", new(v1.ContainerRestartPolicyAlways)
	spec.InitContainers = []v1.Container{first, side}
	c := &spec.Containers[0]
	c.ImagePullPolicy = v1.PullAlways
	c.Resources = v1.ResourceRequirements{ // no CPU: holder gets the only one that is not reserved
		Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse("16Mi")},
		Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")},
	}
	for _, name := range []string{"config", "secret", "scratch", "memory", "labels"} {
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	probe := func() *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 1}
	}
	c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = probe(), probe(), probe()
	c.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}}

	once := s.pod("once", "exit 0")
	once.Spec.RestartPolicy = v1.RestartPolicyNever
	missing := s.pod("missing", forever)
	missing.Spec.Containers[0].Image = strings.Replace(missing.Spec.Containers[0].Image, "busybox:1", "busybox:none", 1)
	return []*v1.Pod{web, once, missing, s.pod("crash", "echo crashes; exit 3"), s.pod("brief", forever)}
}

// claimants are the pods with devices: holder, with two claims and a CPU for itself, sharer, and refused, which asks for more than there is, past the
// scheduler.
func (s scene) claimants() []*v1.Pod {
	with := func(name string, devices, claims int) *v1.Pod {
		p := s.pod(name, forever)
		c := &p.Spec.Containers[0]
		n := *resource.NewQuantity(int64(devices), resource.DecimalSI)
		c.Resources.Limits = v1.ResourceList{alphaResource: n, betaResource: n}
		for i := range claims {
			claim := fmt.Sprintf("claim%d", i)
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: claim, ResourceClaimTemplateName: new("one")})
			c.Resources.Claims = append(c.Resources.Claims, v1.ResourceClaim{Name: claim})
		}
		return p
	}
	holder, sharer, refused := with("holder", 2, 2), with("sharer", 1, 1), with("refused", deviceCount+1, 0)
	c := &holder.Spec.Containers[0]
	c.Resources.Limits[v1.ResourceCPU], c.Resources.Limits[v1.ResourceMemory] = resource.MustParse("1"), resource.MustParse("32Mi")
	refused.Spec.NodeName = lab.NodeName
	return []*v1.Pod{holder, sharer, refused}
}

// manifest is the file of the static pod.
func (s scene) manifest() string {
	return filepath.Join(s.cluster.Dir, "cluster", "node", "manifests", "fixed.yaml")
}

func (s scene) static() error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: fixed, namespace: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: %s, command: [sh, -c, %q]}
`, sceneNamespace, s.cluster.Image(lab.ImageBusybox), forever)
	return os.WriteFile(s.manifest(), []byte(text), 0o644)
}

// clear removes the pods, and waits until they are gone.
func (s scene) clear(ctx context.Context) error {
	if err := os.Remove(s.manifest()); err != nil {
		return err
	}
	pods, err := s.client.CoreV1().Pods(sceneNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if !strings.HasPrefix(p.Name, "fixed-") { // the agent does that
			err = errors.Join(err, s.remove(ctx, p.Name))
		}
	}
	return err
}

func (s scene) remove(ctx context.Context, name string) error {
	return s.removeFrom(ctx, sceneNamespace, name)
}

func (s scene) removeFrom(ctx context.Context, namespace, name string) error {
	pods := s.client.CoreV1().Pods(namespace)
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.eventually(ctx, name+" to be gone", func(ctx context.Context) error {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		}
		return err
	})
}
