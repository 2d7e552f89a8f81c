package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// certificatePath is where the agent with that state keeps its client certificate.
func (b *bench) certificatePath(state string) string {
	return b.nodePath(state, "pki", "kubelet-client-current.pem")
}

// lease waits for the lease of the node: that of a deleted node is garbage, collected at some time after its owner.
func (b *bench) lease(t *testing.T) (l *coordination.Lease) {
	t.Helper()
	eventually(t, "the node's lease", func() (missing string) {
		var err error
		if l, err = b.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(t.Context(), lab.NodeName, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	return l
}

// alone makes sure that no agent runs, then and after the test.
func (b *bench) alone(t *testing.T) {
	t.Helper()
	end := func() {
		if a := b.Agent(); a != nil {
			(&agent{Agent: a, bench: b, t: t}).stop()
		}
	}
	end()
	t.Cleanup(end)
}

// decision matches what certs or node decided.
func decision(by, verdict string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && string(d.By) == by && string(d.Verdict) == verdict
	}
}

// TestIdentity makes a node from nothing but a token.
func TestIdentity(t *testing.T) {
	b := setup(t)
	// After its agent's end, the node with its taint must go.
	t.Cleanup(func() {
		_ = b.client.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), lab.NodeName, metav1.DeleteOptions{})
	})
	b.alone(t)
	_ = b.client.CoreV1().Nodes().Delete(t.Context(), lab.NodeName, metav1.DeleteOptions{})
	if err := b.client.CoreV1().Events("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := lab.AgentConfig{State: "identity", Args: []string{
		"--node-labels=example.org/kind=loupe", "--register-with-taints=example.org/only=us:NoSchedule",
	}}
	a := b.start(t, cfg)
	var node *v1.Node
	eventually(t, "a node that is ready", func() (said string) {
		var err error
		if node, err = b.client.CoreV1().Nodes().Get(t.Context(), lab.NodeName, metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		for _, c := range node.Status.Conditions {
			if c.Type == v1.NodeReady && c.Status == v1.ConditionTrue {
				return ""
			}
		}
		return "not ready"
	})
	for k, v := range map[string]string{
		"example.org/kind": "loupe", v1.LabelHostname: lab.NodeName, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
	} {
		if k != v1.LabelArchStable && node.Labels[k] != v || node.Labels[k] == "" {
			t.Errorf("label %s is %q, want %q", k, node.Labels[k], v)
		}
	}
	if !slices.ContainsFunc(node.Spec.Taints, func(x v1.Taint) bool { return x.ToString() == "example.org/only=us:NoSchedule" }) {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	want := []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: b.NodeIP}, {Type: v1.NodeHostName, Address: lab.NodeName}}
	if !slices.Equal(node.Status.Addresses, want) {
		t.Errorf("addresses %v, want %v", node.Status.Addresses, want)
	}
	for _, r := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods, v1.ResourceEphemeralStorage} {
		if c, has := node.Status.Capacity[r]; !has || c.Sign() <= 0 || node.Status.Allocatable.Name(r, "").Cmp(c) > 0 {
			t.Errorf("%s: %s allocatable of %s", r, node.Status.Allocatable.Name(r, ""), &c)
		}
	}
	csrs, err := b.client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	requests := len(csrs.Items)
	if !slices.ContainsFunc(csrs.Items, func(c certificates.CertificateSigningRequest) bool {
		return strings.HasPrefix(c.Spec.Username, "system:bootstrap:")
	}) {
		t.Errorf("%d signing requests, none by a token", requests)
	}
	certificate := read(t, b.certificatePath("identity"))
	var events []v1.Event
	eventually(t, "the node's events", func() string {
		list, err := b.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Node"})
		if err != nil {
			return err.Error()
		}
		events = slices.DeleteFunc(list.Items, func(e v1.Event) bool { return e.Source.Component != "kubelet" })
		reasons := map[string]bool{}
		for _, e := range events {
			reasons[e.Reason] = true
			if e.Reason == "NodeReady" && e.InvolvedObject.UID != node.UID { // kubectl describe looks for it
				return fmt.Sprintf("an event of the node %q, want %q", e.InvolvedObject.UID, node.UID)
			}
		}
		if reasons["Starting"] && reasons["NodeHasSufficientMemory"] && reasons["NodeReady"] {
			return ""
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(reasons)))
	})
	told := a.find(func(r *trace.Record) bool { _, ok := r.Event.(*trace.NodeEvent); return ok })
	if e := told[0].Event.(*trace.NodeEvent); e.Reason != "Starting" || e.Message != "Starting kubelet." {
		t.Errorf("the first event is %s: %s", e.Reason, e.Message)
	}
	var lease *coordination.Lease
	eventually(t, "the lease of the new node", func() string { // after that of the deleted one
		if lease = b.lease(t); len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].UID != node.UID {
			return fmt.Sprint(lease.OwnerReferences)
		}
		return ""
	})
	if *lease.Spec.LeaseDurationSeconds != 40 {
		t.Errorf("lease %+v of %+v", lease.Spec, lease.OwnerReferences)
	}

	// Again: the certificate serves, and the node's object stays.
	a.stop()
	b.start(t, cfg)
	eventually(t, "the lease to be renewed", func() string {
		if l := b.lease(t); !l.Spec.RenewTime.After(lease.Spec.RenewTime.Time) {
			return l.Spec.RenewTime.String()
		}
		return ""
	})
	if now := read(t, b.certificatePath("identity")); now != certificate {
		t.Error("the certificate was replaced")
	}
	if csrs, err = b.client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{}); err != nil || len(csrs.Items) != requests {
		t.Errorf("%d signing requests after %d, %v", len(csrs.Items), requests, err)
	}

	// Deleted, the node comes back, while its pods continue.
	s := b.space(t)
	s.create(pod("p", forever))
	s.ready("p")
	uid := node.UID
	if err := b.client.CoreV1().Nodes().Delete(t.Context(), lab.NodeName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node to come back", func() string {
		n, err := b.client.CoreV1().Nodes().Get(t.Context(), lab.NodeName, metav1.GetOptions{})
		switch {
		case err != nil:
			return err.Error()
		case n.UID == uid:
			return "it is not deleted"
		case n.Labels["example.org/kind"] != "loupe":
			return fmt.Sprint(n.Labels)
		}
		uid = n.UID
		return ""
	})
	eventually(t, "the lease to be of the new node", func() string {
		if l := b.lease(t); len(l.OwnerReferences) != 1 || l.OwnerReferences[0].UID != uid {
			return fmt.Sprint(l.OwnerReferences)
		}
		return ""
	})
}

// TestNameTaken gives the node's name to another machine, which is alive for a while.
func TestNameTaken(t *testing.T) {
	b := setup(t)
	b.node(t)
	b.alone(t)
	nodes := b.client.CoreV1().Nodes()
	ours := ""
	// Controllers may write the object of a node that has just begun between the two.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(t.Context(), lab.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ours = node.Status.NodeInfo.MachineID; ours == "" {
			return nil
		}
		node.Status.NodeInfo.MachineID = "another"
		_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if ours == "" {
		t.Skip("this machine has no id")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	renew := func() {
		l := b.lease(t)
		l.Spec.RenewTime = new(metav1.NowMicro())
		if _, err := b.client.CoordinationV1().Leases(l.Namespace).Update(ctx, l, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}
	renew()
	a := b.start(t, lab.AgentConfig{})
	r := a.record("a verdict", decision("node", "wait"))
	if d := r.Event.(*trace.Decision); !strings.Contains(d.Reason, "the name is taken") || !strings.Contains(d.Reason, "--hostname-override") {
		t.Error(d.Reason)
	}
	if now, err := nodes.Get(t.Context(), lab.NodeName, metav1.GetOptions{}); err != nil || now.Status.NodeInfo.MachineID != "another" {
		t.Errorf("the object of the other machine was changed: %v", err)
	}
	// The other one ends: its lease runs out.
	l := b.lease(t)
	l.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
	if _, err := b.client.CoordinationV1().Leases(l.Namespace).Update(ctx, l, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.record("adoption", decision("node", "adopt"))
	a.ready()
}

// TestCertificateExpired shows an old certificate: without a token that is an error that says so, with one there is a new certificate.
func TestCertificateExpired(t *testing.T) {
	b := setup(t)
	b.alone(t)
	a := b.start(t, lab.AgentConfig{State: "expired"})
	a.ready()
	a.stop()
	path := b.certificatePath("expired")
	pair, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := b.sign(t, parse(t, pair).Subject, time.Now().Add(-time.Hour))
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	a = b.start(t, lab.AgentConfig{State: "expired", Args: []string{"--bootstrap-kubeconfig="}})
	eventually(t, "the agent to give up", func() string {
		if a.Alive() {
			return "it runs"
		}
		return ""
	})
	if said := a.said(); !strings.Contains(said, "was valid until") || !strings.Contains(said, "--bootstrap-kubeconfig") {
		t.Errorf("it says: %s", said)
	}
	a = b.start(t, lab.AgentConfig{State: "expired"})
	a.ready()
	if pair, err = os.ReadFile(path); err != nil || time.Now().After(parse(t, pair).NotAfter) {
		t.Errorf("the certificate is still the old one, %v", err)
	}
}

func parse(t *testing.T, pair []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(pair)
	if block == nil {
		t.Fatalf("no certificate in %q", pair)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sign makes a client certificate by the cluster's authority, with its key.
func (b *bench) sign(t *testing.T, subject pkix.Name, until time.Time) []byte {
	t.Helper()
	return b.signed(t, &x509.Certificate{
		Subject: subject, NotBefore: until.Add(-time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// signed makes a certificate by the cluster's authority, with its key.
func (b *bench) signed(t *testing.T, c *x509.Certificate) []byte {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(b.CAFile, strings.TrimSuffix(b.CAFile, filepath.Ext(b.CAFile))+".key")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.KeyUsage = big.NewInt(1), x509.KeyUsageDigitalSignature
	cert, err := x509.CreateCertificate(rand.Reader, c, ca.Leaf, &key.PublicKey, ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
}
