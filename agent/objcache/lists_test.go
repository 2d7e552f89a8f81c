package objcache

import (
	"context"
	"encoding/pem"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// running runs a test with a cache of some objects.
func running(t *testing.T, objects []runtime.Object, do func(t *testing.T, c *Objects, client *fake.Clientset, told func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects...)
		var mu sync.Mutex
		var told []string
		c, err := New(Config{Client: fakeapi.Of(client), Changed: func(uid types.UID, volumes ...string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, string(uid)+" "+strings.Join(volumes, ","))
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		do(t, c, client, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(told)
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestServices(t *testing.T) {
	service := func(namespace, name string) *v1.Service {
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"a": "b"}}, Spec: v1.ServiceSpec{ClusterIP: "192.0.2.1"}}
	}
	objects := []runtime.Object{service("default", "kubernetes"), service("default", "other"), service("a", "web"), service("b", "web")}
	running(t, objects, func(t *testing.T, c *Objects, _ *fake.Clientset, _ func() []string) {
		for namespace, want := range map[string][]string{
			"a": {"a/web", "default/kubernetes"}, "default": {"default/kubernetes", "default/other"}, "none": {"default/kubernetes"},
		} {
			got, err := c.Services(t.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range got {
				names = append(names, s.Namespace+"/"+s.Name)
				if s.Annotations != nil || s.Spec.ClusterIP == "" {
					t.Errorf("kept %+v", s)
				}
			}
			slices.Sort(names)
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", namespace, diff)
			}
		}
	})
}

// A static pod, which may be the API server, does not wait for the first list. Other pods wait, because the API server
// has just responded to the agent.
func TestServicesWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Client: fakeapi.Of(fake.NewClientset())}) // it does not run, so it reads no list
		if err != nil {
			t.Fatal(err)
		}
		for source, want := range map[string]time.Duration{podspec.SourceFile: 0, podspec.SourceHTTP: 0, podspec.SourceAPI: syncTimeout, "": syncTimeout} {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Annotations: map[string]string{podspec.AnnotationSource: source}}}
			start := time.Now()
			got, err := c.Services(t.Context(), pod)
			if took := time.Since(start); took != want || len(got) > 0 || (err != nil) != (want > 0) {
				t.Errorf("source %q: got %v, error %v after %s, want a wait of %s", source, got, err, took, want)
			}
		}
	})
}

func bundle(name, signer, label string, certs ...string) *certv1.ClusterTrustBundle {
	b := &certv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": label}}, Spec: certv1.ClusterTrustBundleSpec{SignerName: signer}}
	for _, c := range certs {
		b.Spec.TrustBundle += "text between\n" + certPEM(c)
	}
	return b
}

func certPEM(s string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: certificate, Bytes: []byte(s)}))
}

func TestTrustAnchors(t *testing.T) {
	objects := []runtime.Object{bundle("one", "x.io/s", "prod", "B", "A"), bundle("two", "x.io/s", "prod", "C", "A"), bundle("three", "y.io/s", "prod", "D"), bundle("four", "x.io/s", "test", "E")}
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	running(t, objects, func(t *testing.T, c *Objects, client *fake.Clientset, told func() []string) {
		for name, tc := range map[string]struct {
			src  v1.ClusterTrustBundleProjection
			want string
		}{
			"name":            {v1.ClusterTrustBundleProjection{Name: new("one")}, certPEM("A") + certPEM("B")},
			"signer":          {v1.ClusterTrustBundleProjection{SignerName: new("x.io/s"), LabelSelector: prod}, certPEM("A") + certPEM("B") + certPEM("C")},
			"everything":      {v1.ClusterTrustBundleProjection{SignerName: new("y.io/s"), LabelSelector: &metav1.LabelSelector{}}, certPEM("D")},
			"nothing":         {v1.ClusterTrustBundleProjection{SignerName: new("y.io/s")}, "matched zero ClusterTrustBundles"},
			"no such":         {v1.ClusterTrustBundleProjection{Name: new("none")}, `clustertrustbundle "none" not found`},
			"no such, but":    {v1.ClusterTrustBundleProjection{Name: new("none"), Optional: new(true)}, ""},
			"nothing, but":    {v1.ClusterTrustBundleProjection{SignerName: new("y.io/s"), Optional: new(true)}, ""},
			"neither of both": {v1.ClusterTrustBundleProjection{}, "requires either name or signerName"},
		} {
			got, err := c.TrustAnchors(t.Context(), &tc.src)
			if err != nil && !strings.Contains(err.Error(), tc.want) || err == nil && string(got) != tc.want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p"}}
		pod.Spec.Volumes = []v1.Volume{{Name: "trust", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
			Sources: []v1.VolumeProjection{{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{Name: new("one")}}},
		}}}}
		c.Register(pod)
		if _, err := client.CertificatesV1().ClusterTrustBundles().Update(t.Context(), bundle("one", "x.io/s", "prod", "Z"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := told(); !slices.Equal(got, []string{"p trust"}) {
			t.Errorf("told %v", got)
		}
	})
}

func TestRefs(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}}
	named := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{named("pull"), {}}
	pod.Spec.InitContainers = []v1.Container{{EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: named("init")}}}}}
	pod.Spec.Containers = []v1.Container{{Env: []v1.EnvVar{
		{Name: "A"},
		{ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: named("both")}}},
		{ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: named("key")}}},
	}}}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		EnvFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: named("debug")}}},
	}}}
	pod.Spec.Volumes = []v1.Volume{
		{Name: "c", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: named("both")}}},
		{Name: "s", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "vol"}}},
		{Name: "p", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("both")}},
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: named("both")}},
			{Secret: &v1.SecretProjection{LocalObjectReference: named("vol")}},
		}}}},
		{Name: "csi", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{NodePublishSecretRef: &v1.LocalObjectReference{Name: "csi"}}}},
	}
	want := refs{
		{secret, "n", "pull"}: nil, {secret, "n", "init"}: nil, {secret, "n", "key"}: nil, {secret, "n", "csi"}: nil, {configMap, "n", "debug"}: nil,
		{configMap, "n", "both"}: {"c", "p"}, {secret, "n", "vol"}: {"s", "p"},
	}
	if diff := cmp.Diff(want, refsOf(pod), cmp.AllowUnexported(key{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
