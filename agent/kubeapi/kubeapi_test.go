package kubeapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
)

// server answers each request with NotFound, and keeps the requests.
type server struct {
	mu   sync.Mutex
	seen []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Accept")+" "+r.UserAgent()+" "+string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(v1.Resource("x"), "x").Status())
}

// TestRequestsAreClientGos sends the requests of each kind with our clients and with client-go's: they are the same, in each encoding.
func TestRequestsAreClientGos(t *testing.T) {
	for _, contentType := range []string{"", "application/json", "application/vnd.kubernetes.protobuf"} {
		s := &server{}
		web := httptest.NewServer(s)
		defer web.Close()
		cfg := &rest.Config{Host: web.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType}}
		ours, err := kubeapi.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var got [2][]string
		for i, api := range []kubeapi.Interface{ours, fakeapi.Of(theirs)} {
			s.seen = nil
			all(t, api)
			got[i] = slices.Clone(s.seen)
		}
		if len(got[0]) < 40 {
			t.Errorf("%q: %d requests", contentType, len(got[0]))
		}
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%q: client-go's requests and ours (-client-go +ours):\n%s", contentType, diff)
		}
	}
}

// all sends some requests of each kind.
func all(t *testing.T, c kubeapi.Interface) {
	t.Helper()
	ctx, meta := t.Context(), metav1.ObjectMeta{Name: "n", Namespace: "ns"}
	_, err := c.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}}, metav1.CreateOptions{})
	notFound(t, err)
	_, err = c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "u"}}, metav1.CreateOptions{})
	notFound(t, err)
	_, err = c.CoreV1().ServiceAccounts("ns").CreateToken(ctx, "n", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"a"}}}, metav1.CreateOptions{})
	notFound(t, err)
	_, err = c.CoreV1().Pods("ns").Create(ctx, &v1.Pod{ObjectMeta: meta}, metav1.CreateOptions{})
	notFound(t, err)
	_, err = c.CoordinationV1().Leases("ns").Update(ctx, &coordinationv1.Lease{ObjectMeta: meta}, metav1.UpdateOptions{})
	notFound(t, err)
	kind(t, c.CertificatesV1().CertificateSigningRequests())
	kind(t, c.CertificatesV1().ClusterTrustBundles())
	kind(t, c.CertificatesV1().PodCertificateRequests("ns"))
	kind(t, c.CoordinationV1().Leases("ns"))
	kind(t, c.CoreV1().ConfigMaps("ns"))
	kind(t, c.CoreV1().Events("ns"))
	kind(t, c.CoreV1().Nodes())
	kind(t, c.CoreV1().PersistentVolumeClaims("ns"))
	kind(t, c.CoreV1().PersistentVolumes())
	kind(t, c.CoreV1().Pods(""))
	kind(t, c.CoreV1().Secrets("ns"))
	kind[*v1.ServiceAccount, *v1.ServiceAccountList](t, c.CoreV1().ServiceAccounts("ns"))
	kind(t, c.CoreV1().Services(""))
	kind(t, c.NodeV1().RuntimeClasses())
	kind(t, c.ResourceV1().ResourceClaims("ns"))
	kind[*resourcev1.ResourceSlice, *resourcev1.ResourceSliceList](t, c.ResourceV1().ResourceSlices())
	notFound(t, c.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}))
	kind(t, c.StorageV1().CSIDrivers())
	kind(t, c.StorageV1().CSINodes())
	kind(t, c.StorageV1().VolumeAttachments())
}

func kind[T, L any](t *testing.T, r kubeapi.Resource[T, L]) {
	t.Helper()
	limit := int64(7)
	_, err := r.Get(t.Context(), "n", metav1.GetOptions{ResourceVersion: "0"})
	notFound(t, err)
	_, err = r.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=n", TimeoutSeconds: &limit})
	notFound(t, err)
	_, err = r.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5", AllowWatchBookmarks: true})
	notFound(t, err)
	_, err = r.Patch(t.Context(), "n", types.StrategicMergePatchType, []byte(`{"a":1}`), metav1.PatchOptions{FieldManager: "m"}, "status")
	notFound(t, err)
	notFound(t, r.Delete(t.Context(), "n", metav1.DeleteOptions{GracePeriodSeconds: &limit}))
}

func notFound(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want NotFound", err)
	}
}

func TestBurst(t *testing.T) {
	if _, err := kubeapi.New(&rest.Config{Host: "http://127.0.0.1:1", QPS: 5}); err == nil {
		t.Error("a rate without a burst is accepted")
	}
}
