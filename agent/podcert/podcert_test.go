package podcert

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
)

// signer answers each request when it is created.
func signer(t *testing.T, condition string) (*fake.Clientset, *int) {
	c := fake.NewClientset(&v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "sa-uid"}})
	n := 0
	c.PrependReactor("create", "podcertificaterequests", func(a clienttesting.Action) (bool, runtime.Object, error) {
		n++
		r := a.(clienttesting.CreateAction).GetObject().(*certv1.PodCertificateRequest)
		r.Name = fmt.Sprint(r.GenerateName, n)
		if _, err := x509.ParseCertificateRequest(r.Spec.StubPKCS10Request); err != nil || r.Spec.ServiceAccountUID != "sa-uid" || r.Spec.NodeUID != "node-uid" {
			t.Errorf("request %+v, %v", r.Spec, err)
		}
		if condition != "" {
			r.Status.Conditions = []metav1.Condition{{Type: condition, Reason: "Why", Message: "because"}}
			r.Status.BeginRefreshAt = new(metav1.NewTime(time.Now().Add(time.Hour)))
			r.Status.NotAfter = new(metav1.NewTime(time.Now().Add(2 * time.Hour)))
			r.Status.CertificateChain = "junk\n" + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: fmt.Append(nil, n)}))
		}
		return false, r, nil
	})
	return c, &n
}

// certified is a pod with a certificate.
func certified() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}}
	pod.Spec.ServiceAccountName = "sa"
	pod.Spec.Volumes = []v1.Volume{{Name: "vol", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		Sources: []v1.VolumeProjection{{}, {PodCertificate: &v1.PodCertificateProjection{SignerName: "x.io/s", KeyType: "ED25519"}}},
	}}}}
	return pod
}

func TestCertificate(t *testing.T) {
	pod := certified()
	for condition, want := range map[string]string{
		certv1.PodCertificateRequestConditionTypeIssued: "", certv1.PodCertificateRequestConditionTypeDenied: `permanently denied: reason="Why" message="because"`,
		certv1.PodCertificateRequestConditionTypeFailed: "permanently failed", "": "credential bundle is not issued yet",
	} {
		synctest.Test(t, func(t *testing.T) {
			client, made := signer(t, condition)
			told := 0
			m, err := New(Config{Client: fakeapi.Of(client), NodeName: "n", NodeUID: func() types.UID { return "node-uid" }, Changed: func(types.UID, ...string) { told++ }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			key, chain, err := m.Certificate(t.Context(), pod, "vol", 1)
			synctest.Wait()
			if want != "" {
				if err == nil || !strings.Contains(err.Error(), want) || *made != 1 {
					t.Errorf("%s: %d requests, error %v", condition, *made, err)
				}
			} else {
				if err != nil || !strings.Contains(string(key), "PRIVATE KEY") || strings.Contains(string(chain), "junk") {
					t.Errorf("%s %s %v", key, chain, err)
				}
				time.Sleep(time.Hour + maxJitter)
				synctest.Wait()
				if _, renewed, err := m.Certificate(t.Context(), pod, "vol", 1); err != nil || string(renewed) == string(chain) || told != 2 || *made != 2 {
					t.Errorf("not renewed: %v, told %d times, %d requests", err, told, *made)
				}
			}
			if _, _, err := m.Certificate(t.Context(), pod, "vol", 0); err == nil {
				t.Error("a source of another type has a certificate")
			}
			m.Forget("u")
			cancel()
			if err := <-done; err != nil || len(m.held) != 0 {
				t.Errorf("%v, %d are held", err, len(m.held))
			}
		})
	}
}

// publisher keeps the reasons of Events.
type publisher struct {
	events.Publisher
	mu      sync.Mutex
	reasons []string
}

func (p *publisher) Pod(_ context.Context, _ *v1.Pod, _, kind, reason, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reasons = append(p.reasons, kind+" "+reason)
}

// A signer that does not answer again: the certificate becomes overdue, then it expires; each is told once. It answers at last.
func TestLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := signer(t, certv1.PodCertificateRequestConditionTypeIssued)
		var silent atomic.Bool
		client.PrependReactor("create", "podcertificaterequests", func(clienttesting.Action) (bool, runtime.Object, error) {
			return silent.Load(), nil, errors.New("no signer")
		})
		pub := &publisher{}
		m, err := New(Config{Client: fakeapi.Of(client), NodeName: "n", NodeUID: func() types.UID { return "node-uid" }, Changed: func(types.UID, ...string) {}, Events: pub})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		check := func(at time.Duration, state State, reasons string) {
			t.Helper()
			time.Sleep(at)
			synctest.Wait()
			if got := m.Counts(); len(got) != 1 || got[Count{"x.io/s", state}] != 1 {
				t.Errorf("%v, want %s", got, state)
			}
			pub.mu.Lock()
			defer pub.mu.Unlock()
			if got := strings.Join(pub.reasons, ","); got != reasons {
				t.Errorf("%s: told %q, want %q", state, got, reasons)
			}
		}
		if len(m.Counts()) != 0 {
			t.Error("there are certificates")
		}
		if _, _, err := m.Certificate(t.Context(), certified(), "vol", 1); err != nil {
			t.Fatal(err)
		}
		silent.Store(true)
		const overdue, expired = "Warning CertificateOverdueForRefresh", "Warning CertificateExpired"
		check(time.Hour+overdueAfter-time.Second, Fresh, "")
		check(2*time.Second, Overdue, overdue)
		check(time.Hour, Expired, overdue+","+expired)
		silent.Store(false)
		check(lastDelay*3, Fresh, overdue+","+expired)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The states of sources without a certificate.
func TestCounts(t *testing.T) {
	m := &Manager{held: map[source]*credential{
		{volume: "a"}: {signer: "s"}, {volume: "b"}: {signer: "s", err: &RefusedError{Failed: true}}, {volume: "c"}: {signer: "s", err: &RefusedError{}}, {volume: "d"}: {signer: "t"},
	}}
	got := m.Counts()
	if len(got) != 4 || got[Count{"s", NotIssued}] != 1 || got[Count{"s", Failed}] != 1 || got[Count{"s", Denied}] != 1 || got[Count{"t", NotIssued}] != 1 {
		t.Errorf("%v", got)
	}
}
