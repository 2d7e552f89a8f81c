package podcert

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// request returns a key, in PEM, and the request to the signer.
func (m *Manager) request(ctx context.Context, pod *v1.Pod, src *v1.PodCertificateProjection) (*certv1.PodCertificateRequest, []byte, error) {
	account, err := m.cfg.Client.CoreV1().ServiceAccounts(pod.Namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("fetch service account: %w", err)
	}
	node := m.cfg.NodeUID()
	if node == "" {
		return nil, nil, errors.New("the Node object is not known yet")
	}
	key, err := newKey(src.KeyType)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a PKCS#10 request: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key: %w", err)
	}
	return &certv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, GenerateName: "req-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Spec: certv1.PodCertificateRequestSpec{
			SignerName: src.SignerName, PodName: pod.Name, PodUID: pod.UID,
			ServiceAccountName: pod.Spec.ServiceAccountName, ServiceAccountUID: account.UID,
			NodeName: types.NodeName(m.cfg.NodeName), NodeUID: node,
			MaxExpirationSeconds: src.MaxExpirationSeconds, StubPKCS10Request: stub, UnverifiedUserAnnotations: src.UserAnnotations,
		},
	}, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func newKey(kind string) (crypto.Signer, error) {
	switch kind {
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSAP256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSAP384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ECDSAP521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("podCertificate.keyType %q: want RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519", kind)
}

// answered reports whether the request has a final result.
func answered(r *certv1.PodCertificateRequest) bool {
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certv1.PodCertificateRequestConditionTypeIssued:
			return r.Status.BeginRefreshAt != nil
		case certv1.PodCertificateRequestConditionTypeDenied, certv1.PodCertificateRequestConditionTypeFailed:
			return true
		}
	}
	return false
}

// verdict returns why the signer refused; nil if it issued.
func verdict(r *certv1.PodCertificateRequest) *RefusedError {
	for _, c := range r.Status.Conditions {
		failed := c.Type == certv1.PodCertificateRequestConditionTypeFailed
		if failed || c.Type == certv1.PodCertificateRequestConditionTypeDenied {
			return &RefusedError{Failed: failed, Request: r.Name, Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}

// cleanChain returns only the certificates.
func cleanChain(in []byte) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(in); block != nil; block, rest = pem.Decode(rest) {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}))
	}
	return out.Bytes()
}
