package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
)

func signingRequest(t *testing.T, key *ecdsa.PrivateKey, node string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	text, err := cert.MakeCSR(key, &pkix.Name{CommonName: node}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: text, SignerName: "s"},
	}
}

// TestAskAgain finds a request of an earlier run, if it is the same request with the same key.
func TestAskAgain(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherSigner := signingRequest(t, key, "n")
	otherSigner.Spec.SignerName = "x"
	broken := signingRequest(t, key, "n")
	broken.Spec.Request = []byte("no PEM")
	for _, c := range []struct {
		name string
		old  *certificatesv1.CertificateSigningRequest
		want string
	}{
		{"the same", signingRequest(t, key, "n"), ""},
		{"another node", signingRequest(t, key, "m"), "subject"},
		{"another key", signingRequest(t, other, "n"), "another key"},
		{"another signer", otherSigner, "signer"},
		{"no request", broken, "PEM"},
	} {
		api := fakeapi.Of(fake.NewClientset(c.old))
		_, uid, err := ask(t.Context(), api, signingRequest(t, key, "n"), key)
		if c.want == "" && (err != nil || uid != "u") {
			t.Errorf("%s: %s, %v", c.name, uid, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAwait ends with the certificate, or with what prevents it.
func TestAwait(t *testing.T) {
	condition := func(of certificatesv1.RequestConditionType) func(*certificatesv1.CertificateSigningRequest) {
		return func(r *certificatesv1.CertificateSigningRequest) {
			r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: of, Status: v1.ConditionTrue, Reason: "Because", Message: "so"}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*certificatesv1.CertificateSigningRequest)
		want   string
	}{
		{"approved and issued", func(r *certificatesv1.CertificateSigningRequest) {
			condition(certificatesv1.CertificateApproved)(r)
			r.Status.Certificate = []byte("pem")
		}, ""},
		{"approved", condition(certificatesv1.CertificateApproved), "deadline"},
		{"denied", condition(certificatesv1.CertificateDenied), "denied, reason: Because, message: so"},
		{"failed", condition(certificatesv1.CertificateFailed), "failed, reason: Because, message: so"},
		{"another object", func(r *certificatesv1.CertificateSigningRequest) { r.UID = "v" }, "changed UIDs"},
		{"deleted", nil, "was deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u"}}
				set := fake.NewClientset([]runtime.Object{r}...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				go func() {
					time.Sleep(time.Second)
					requests := set.CertificatesV1().CertificateSigningRequests()
					if c.change == nil {
						_ = requests.Delete(ctx, "r", metav1.DeleteOptions{})
						return
					}
					changed := r.DeepCopy()
					c.change(changed)
					_, _ = requests.Update(ctx, changed, metav1.UpdateOptions{})
				}()
				got, err := await(ctx, fakeapi.Of(set), "r", "u")
				switch {
				case c.want == "" && (err != nil || string(got) != "pem"):
					t.Errorf("%q, %v", got, err)
				case c.want == "deadline" && (err == nil || ctx.Err() == nil):
					t.Errorf("%q, %v before the deadline", got, err)
				case c.want != "" && c.want != "deadline" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%q, %v, want %q", got, err, c.want)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
