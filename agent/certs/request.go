package certs

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/cert"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
)

// pause is how long to wait before signing requests are listed again.
const pause = time.Second

// ask creates a signing request. If there is one of that name already, of the same subject, signer and key, it is used: an agent that
// restarts continues to wait for it. It returns the API server's errors.
//
// Upstream: client-go, util/certificate/csr/csr.go, RequestCertificate. The API v1beta1, which Kubernetes 1.22 removed, is not asked.
func ask(ctx context.Context, api kubeapi.Interface, want *certificatesv1.CertificateSigningRequest, key crypto.Signer) (string, types.UID, error) {
	requests := api.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(ctx, want, metav1.CreateOptions{})
	if err == nil {
		return made.Name, made.UID, nil
	}
	if want.Name == "" || !apierrors.IsAlreadyExists(err) {
		return "", "", fmt.Errorf("cannot create certificate signing request: %w", err)
	}
	old, err := requests.Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return "", "", fmt.Errorf("cannot retrieve certificate signing request: %w", err)
	}
	if err := sameRequest(old, want, key); err != nil {
		return "", "", fmt.Errorf("retrieved csr is not compatible: %w", err)
	}
	return old.Name, old.UID, nil
}

// sameRequest returns an error if an existing request cannot be used in place of another.
func sameRequest(old, want *certificatesv1.CertificateSigningRequest, key crypto.Signer) error {
	is, err := decode(old)
	if err != nil {
		return fmt.Errorf("existing request: %w", err)
	}
	wanted, err := decode(want)
	if err != nil {
		return fmt.Errorf("new request: %w", err)
	}
	switch {
	case !reflect.DeepEqual(is.Subject, wanted.Subject):
		return fmt.Errorf("its subject is %s, want %s", is.Subject, wanted.Subject)
	case old.Spec.SignerName != want.Spec.SignerName:
		return fmt.Errorf("its signer is %s, want %s", old.Spec.SignerName, want.Spec.SignerName)
	}
	is.PublicKey = key.Public()
	if err := is.CheckSignature(); err != nil {
		return fmt.Errorf("it was made with another key: %w", err)
	}
	if len(old.Status.Certificate) == 0 {
		return nil
	}
	chain, err := cert.ParseCertsPEM(old.Status.Certificate)
	if err != nil {
		return fmt.Errorf("its certificate: %w", err)
	}
	for _, c := range chain {
		if time.Now().After(c.NotAfter) {
			return fmt.Errorf("its certificate was valid until %s", c.NotAfter)
		}
	}
	return nil
}

func decode(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != cert.CertificateRequestBlockType {
		return nil, errors.New("it has no PEM block of type " + cert.CertificateRequestBlockType)
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// await returns the certificate of a request when it is issued. It ends with ctx, or with an error if the request is denied, fails, is
// deleted, or another one has its name.
//
// Upstream: client-go, util/certificate/csr/csr.go, WaitForCertificate.
func await(ctx context.Context, api kubeapi.Interface, name string, uid types.UID) ([]byte, error) {
	requests := api.CertificatesV1().CertificateSigningRequests()
	only := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	for opts := (metav1.ListOptions{}); ; {
		only(&opts)
		if _, err := requests.List(ctx, opts); err == nil {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var issued []byte
	_, err := watchtools.UntilWithSync(ctx, kubeapi.NewListWatch(api, requests, only), &certificatesv1.CertificateSigningRequest{}, nil,
		func(e watch.Event) (done bool, err error) {
			issued, err = outcome(e, name, uid)
			return len(issued) > 0, err
		})
	if err != nil {
		return nil, fmt.Errorf("cannot watch on the certificate signing request: %w", err)
	}
	return issued, nil
}

// outcome returns the certificate if an event brings it, and an error if there will be none.
func outcome(e watch.Event, name string, uid types.UID) ([]byte, error) {
	switch e.Type {
	case watch.Added, watch.Modified:
	case watch.Deleted:
		return nil, fmt.Errorf("csr %q was deleted", name)
	case watch.Bookmark, watch.Error:
		return nil, nil
	}
	r, ok := e.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil, fmt.Errorf("unexpected type received: %T", e.Object)
	}
	if r.UID != uid {
		return nil, fmt.Errorf("csr %q changed UIDs", name)
	}
	approved := false
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateDenied:
			return nil, fmt.Errorf("certificate signing request is denied, reason: %s, message: %s", c.Reason, c.Message)
		case certificatesv1.CertificateFailed:
			return nil, fmt.Errorf("certificate signing request failed, reason: %s, message: %s", c.Reason, c.Message)
		case certificatesv1.CertificateApproved:
			approved = true
		}
	}
	if !approved {
		return nil, nil
	}
	return r.Status.Certificate, nil
}
