package server

import (
	"net/http/httptest"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A static pod has the kind of its manifest, the items of a list have none.
func TestItemsHaveNoKind(t *testing.T) {
	w := httptest.NewRecorder()
	writePods(w, []v1.Pod{{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "fixed"}}})
	if got := w.Body.String(); !strings.Contains(got, `"items":[{"metadata":{"name":"fixed"}`) || !strings.HasPrefix(got, `{"kind":"PodList","apiVersion":"v1"`) {
		t.Error(got)
	}
}
