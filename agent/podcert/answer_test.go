package podcert

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
)

// A request that exists is waited for: however long its signer takes, and whatever the API server answers. One that was deleted is created again.
func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		fails   bool // each list fails for an hour
		deleted bool // after an hour
		made    int
	}{
		"a slow signer":             {made: 1},
		"an API server with errors": {fails: true, made: 1},
		"deleted":                   {deleted: true, made: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, made := signer(t, "")
				start := time.Now()
				client.PrependReactor("list", "podcertificaterequests", func(clienttesting.Action) (bool, runtime.Object, error) {
					return c.fails && time.Since(start) < time.Hour, nil, errors.New("not now")
				})
				m, err := New(Config{Client: fakeapi.Of(client), NodeName: "n", NodeUID: func() types.UID { return "node-uid" }, Changed: func(types.UID, ...string) {}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- m.Run(ctx) }()
				if _, _, err := m.Certificate(t.Context(), certified(), "vol", 1); err == nil {
					t.Error("there is a certificate")
				}
				time.Sleep(time.Hour)
				api := client.CertificatesV1().PodCertificateRequests("ns")
				if c.deleted {
					if err := api.Delete(ctx, "req-1", metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
					time.Sleep(3 * lastDelay)
				}
				all, err := api.List(ctx, metav1.ListOptions{})
				if err != nil || len(all.Items) != 1 || *made != c.made {
					t.Fatalf("%v, %d requests of %d, want %d", err, len(all.Items), *made, c.made)
				}
				r := &all.Items[0]
				r.Status.Conditions = []metav1.Condition{{Type: certv1.PodCertificateRequestConditionTypeIssued}}
				r.Status.BeginRefreshAt, r.Status.NotAfter = new(metav1.NewTime(time.Now().Add(time.Hour))), new(metav1.NewTime(time.Now().Add(2*time.Hour)))
				if _, err := api.UpdateStatus(ctx, r, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * lastDelay)
				if _, _, err := m.Certificate(t.Context(), certified(), "vol", 1); err != nil || *made != c.made {
					t.Errorf("%v, %d requests, want %d", err, *made, c.made)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
