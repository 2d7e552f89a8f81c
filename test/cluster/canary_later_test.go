package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"

	"github.com/kubeloupe/kubeloupe/trace"
)

// What comes to a node while pods run: values that change, containers that are added, sizes that grow, keys that are made here.

const canarySigner = "kubeloupe.dev/canary"

// printing has a container's probe print, and fail.
func printing(c *v1.Container, script string) {
	c.ReadinessProbe = &v1.Probe{PeriodSeconds: 4, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", script + "; exit 1"}}}}
}

// later are pods to which more happens when they run, and what is said of each.
func (c *canaries) later() (pods []*v1.Pod, said map[string]string) {
	ref := func(name string) *v1.EnvVarSource {
		return &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: "key"}}
	}
	changed := pod("changed", "")
	changed.Spec.Containers[0].Command = []string{"$(COMMAND)"}
	changed.Spec.Containers[0].Env = []v1.EnvVar{{Name: "COMMAND", ValueFrom: ref("changed")}}

	// Its variable stays as it was, its volume follows.
	kept := pod("kept", forever)
	kept.Spec.Containers[0].Env = []v1.EnvVar{{Name: "KEPT", ValueFrom: ref("kept")}}
	mounting(kept, v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "kept"}})
	printing(&kept.Spec.Containers[0], "echo $KEPT; cat /v/key")

	resized := pod("resized", forever)
	main := &resized.Spec.Containers[0]
	main.Env = []v1.EnvVar{{Name: "SIZE", ValueFrom: ref("resized")}, {Name: "TWICE", Value: "of $(SIZE)"}}
	main.Resources = resources("20m", "32Mi")
	main.ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	printing(main, "echo $TWICE")

	certified := pod("certified", forever)
	certified.Spec.ServiceAccountName = "default"
	mounting(certified, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{PodCertificate: &v1.PodCertificateProjection{
		SignerName: canarySigner, KeyType: "ED25519", KeyPath: "key", CertificateChainPath: "chain",
	}}}}})
	printing(&certified.Spec.Containers[0], "cat /v/key; base64 /v/key; tail -n 2 /v/key | head -n 1")

	debugged := pod("debugged", forever)

	return []*v1.Pod{changed, kept, resized, certified, debugged}, map[string]string{
		"changed": "exec: ", "kept": "Unhealthy", "resized": "Unhealthy", "certified": "Unhealthy", "debugged": "Started",
	}
}

// change gives a Secret another value.
func (c *canaries) change(s *space, name, value string) {
	c.t.Helper()
	secret, err := s.client.CoreV1().Secrets(s.name).Get(c.t.Context(), name, metav1.GetOptions{})
	must(c.t, err)
	secret.Data = map[string][]byte{"key": []byte(value)}
	_, err = s.client.CoreV1().Secrets(s.name).Update(c.t.Context(), secret, metav1.UpdateOptions{})
	must(c.t, err)
}

// goOn has more happen to those pods.
func (c *canaries) goOn(s *space) {
	c.t.Helper()
	c.change(s, "changed", c.odd("changedlater"))
	c.change(s, "kept", c.secret("keptlater"))
	s.kubectl("patch", "pod", "resized", "--subresource=resize", "--patch",
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"30m","memory":"48Mi"},"limits":{"cpu":"30m","memory":"48Mi"}}}]}}`)
	var more []v1.EphemeralContainer
	for name, command := range map[string][]string{"starts": {"sh", "-c", forever, "$(VALUE)"}, "fails": {"$(VALUE)", "--with=$(AGAIN)"}} {
		more = append(more, v1.EphemeralContainer{
			TargetContainerName: "main",
			EphemeralContainerCommon: v1.EphemeralContainerCommon{
				Name: name, Image: busybox, Command: command,
				Env: []v1.EnvVar{{Name: "VALUE", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
					LocalObjectReference: v1.LocalObjectReference{Name: "debugged"}, Key: "key",
				}}}, {Name: "AGAIN", Value: "x$(VALUE)x"}},
			},
		})
	}
	// The agent may write the pod's status between the two.
	must(c.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		debugged, err := s.get("debugged")
		if err != nil {
			return err
		}
		debugged.Spec.EphemeralContainers = more
		_, err = s.client.CoreV1().Pods(s.name).UpdateEphemeralContainers(c.t.Context(), "debugged", debugged, metav1.UpdateOptions{})
		return err
	}))
	s.event("debugged", "Failed")

	p, err := s.get("certified")
	must(c.t, err)
	key := strings.Split(read(c.t, filepath.Join(c.agent.RootDir, "pods", string(p.UID), "volumes/kubernetes.io~projected/v/key")), "\n")
	if len(key) < 3 || len(key[1]) < 40 {
		c.t.Fatalf("this is no key: %q", key)
	}
	c.watch("podkey", "", spelled(key[1])...)
	c.change(s, "kept", c.secret("keptlast"))
}

// wentOn waits until all of that has happened.
func (c *canaries) wentOn(s *space) {
	c.t.Helper()
	eventually(c.t, "another try with the changed value, and another container of the size", func() string {
		changed, resized := 0, 0
		c.agent.find(func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.CRICall)
			switch {
			case !ok || r.Edge != trace.EdgeEnd:
			case e.Method == "StartContainer" && r.Pod.Name == "changed":
				changed++
			case e.Method == "StartContainer" && r.Pod.Name == "resized":
				resized++
			}
			return false
		})
		if changed < 2 || resized < 2 {
			return "not yet"
		}
		return ""
	})
}

// sign gives pods the certificates that they want, until the test ends.
func (c *canaries) sign() {
	ctx, cancel := context.WithCancel(noDeadline(c.t))
	public, key, err := ed25519.GenerateKey(cryptorand.Reader)
	must(c.t, err)
	ca := template("canary-ca")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(cryptorand.Reader, ca, ca, public, key)
	must(c.t, err)
	ca, err = x509.ParseCertificate(der)
	must(c.t, err)
	ended := make(chan struct{})
	c.t.Cleanup(func() { cancel(); <-ended })
	sign := func(r *certificatesv1.PodCertificateRequest) {
		req, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request)
		if err != nil {
			return
		}
		leaf := template(r.Spec.PodName)
		der, err := x509.CreateCertificate(cryptorand.Reader, leaf, ca, req.PublicKey, key)
		if err != nil {
			return
		}
		r.Status = certificatesv1.PodCertificateRequestStatus{
			Conditions: []metav1.Condition{{
				Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue, Reason: "Canary", Message: "signed", LastTransitionTime: metav1.Now(),
			}},
			CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			NotBefore:        new(metav1.NewTime(leaf.NotBefore)), NotAfter: new(metav1.NewTime(leaf.NotAfter)), BeginRefreshAt: new(metav1.NewTime(leaf.NotBefore.Add(time.Hour))),
		}
		_, _ = c.bench.client.CertificatesV1().PodCertificateRequests(r.Namespace).UpdateStatus(ctx, r, metav1.UpdateOptions{}) // else it is tried again
	}
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			list, err := c.bench.client.CertificatesV1().PodCertificateRequests("").List(ctx, metav1.ListOptions{})
			for i := range list.Items {
				if err == nil && list.Items[i].Spec.SignerName == canarySigner && len(list.Items[i].Status.Conditions) == 0 {
					sign(&list.Items[i])
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}

func template(name string) *x509.Certificate {
	now := time.Now().UTC().Truncate(time.Second)
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now, NotAfter: now.Add(2 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// keyPair is a certificate and its key, as kubeconfigs have them.
func (c *canaries) keyPair() (certificate, key string) {
	c.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	must(c.t, err)
	cert := template("system:node:" + rand.String(5))
	der, err := x509.CreateCertificate(cryptorand.Reader, cert, cert, k.Public(), k)
	must(c.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(k)
	must(c.t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	c.watch("apikey", "", spelled(strings.Split(string(text), "\n")[1])...)
	encode := base64.StdEncoding.EncodeToString
	return encode(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), encode(text)
}

// grown is a volume that is larger than its claim has been told: the node is to make its file system so.
func (c *canaries) grown(s *space, name string) {
	c.t.Helper()
	var claim *v1.PersistentVolumeClaim
	eventually(c.t, "that the claim is bound", func() string {
		var err error
		if claim, err = s.client.CoreV1().PersistentVolumeClaims(s.name).Get(c.t.Context(), name, metav1.GetOptions{}); err != nil || claim.Status.Phase != v1.ClaimBound {
			return "not yet"
		}
		size := func(text string) v1.ResourceList {
			return v1.ResourceList{v1.ResourceStorage: resource.MustParse(text)}
		}
		claim.Status.Capacity, claim.Status.AllocatedResources = size("512Mi"), size("1Gi")
		claim.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: v1.PersistentVolumeClaimNodeResizePending}
		if _, err = s.client.CoreV1().PersistentVolumeClaims(s.name).UpdateStatus(c.t.Context(), claim, metav1.UpdateOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}
