package certs

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/agent/kubeclient"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	clientPair = "kubelet-client"         // kubelet-client-current.pem
	pendingKey = "kubelet-client.key.tmp" // the key of a request that is not approved yet
)

// unusable returns why a kubeconfig has no usable identity; nil if it has.
//
// Upstream: pkg/kubelet/certificate/bootstrap/bootstrap.go, isClientConfigStillValid.
func unusable(path string) error {
	cfg, err := kubeclient.Load(path)
	if err != nil {
		return err
	}
	if cfg.CertFile == "" && len(cfg.CertData) == 0 {
		return fmt.Errorf("kubeconfig %s names no client certificate", path)
	}
	return kubeclient.Expired(cfg, time.Now())
}

// bootstrap requests a client certificate with the bootstrap kubeconfig's identity, stores it and writes the
// kubeconfig. It retries temporary errors until ctx ends. Others, for example a token that is not accepted, it returns once it has had
// nothing else for the time of patience. Each attempt reads the bootstrap kubeconfig again.
//
// Upstream: pkg/kubelet/certificate/bootstrap/bootstrap.go, LoadClientCert.
func bootstrap(ctx context.Context, cfg ClientConfig, patience time.Duration) error {
	store, err := newStore(cfg.Dir, clientPair, "", "")
	if err != nil {
		return fmt.Errorf("certificate directory %s: %w", cfg.Dir, err)
	}
	keyPath := filepath.Join(cfg.Dir, pendingKey)
	keyPEM, _, err := keyutil.LoadOrGenerateKeyFile(keyPath) // the same key after a restart, and therefore the same request
	if err != nil {
		return fmt.Errorf("key of the signing request: %w", err)
	}
	again := &rotator{what: trace.UseClient, bus: cfg.Bus}
	var (
		got     *grant
		refused time.Time // since when all attempts were refused; zero if the last one was not
	)
	for pauses := backoff.Doubling(firstBackoff/4, maxBackoff); ; {
		if got, err = attempt(ctx, cfg, keyPEM); err == nil {
			break
		}
		if why := final(err, cfg.BootstrapKubeconfig); why != nil {
			if refused.IsZero() {
				refused = time.Now()
			}
			if time.Since(refused) >= patience {
				return why
			}
			err = why
		} else {
			refused = time.Time{}
		}
		if ctx.Err() != nil || !again.waitAgain(ctx, pauses.Step(), err) {
			return fmt.Errorf("bootstrap: %w", err)
		}
	}
	if _, err := store.update(got.certPEM, keyPEM); err != nil {
		return fmt.Errorf("store the client certificate: %w", err)
	}
	if err := os.Remove(keyPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("key of the signing request: %w", err)
	}
	return writeKubeconfig(got.by, cfg.Kubeconfig, store.currentPath())
}

// grant is a certificate, and the configuration of the client that got it.
type grant struct {
	certPEM []byte
	by      *rest.Config
}

// unreadable is a bootstrap kubeconfig that cannot be used.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// attempt requests a certificate with what the bootstrap kubeconfig says now.
func attempt(ctx context.Context, cfg ClientConfig, keyPEM []byte) (*grant, error) {
	restCfg, err := kubeclient.Load(cfg.BootstrapKubeconfig)
	if err != nil {
		return nil, unreadable{err}
	}
	cfg.disclose(cfg.BootstrapKubeconfig, restCfg)
	client, done, err := cfg.client(restCfg, nil)
	if err != nil {
		return nil, unreadable{err}
	}
	defer done()
	certPEM, err := request(ctx, cfg, client, keyPEM)
	if err != nil {
		return nil, err
	}
	return &grant{certPEM: certPEM, by: restCfg}, nil
}

// final returns an error if a retry does not help, unless the cluster or the kubeconfig is changed.
func final(err error, path string) error {
	_, unusable := errors.AsType[unreadable](err)
	switch {
	case unusable:
		return fmt.Errorf("bootstrap: %w", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("bootstrap: the API server does not accept the token in %s: it may be expired; make a new one: %w", path, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("bootstrap: the token in %s may not ask for certificates: bind its group to system:node-bootstrapper: %w", path, err)
	}
	return nil
}

// request gets a signed client certificate for the node.
func request(ctx context.Context, cfg ClientConfig, client kubeapi.Interface, keyPEM []byte) ([]byte, error) {
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("key of the signing request: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("key of the signing request: it cannot sign")
	}
	name := subject(cfg.NodeName)
	csrPEM, err := cert.MakeCSR(key, &name, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make the signing request: %w", err)
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	if _, ok := key.(*rsa.PrivateKey); ok {
		usages = append(usages, certificatesv1.UsageKeyEncipherment)
	}
	called, err := requestName(signer.Public(), name, usages)
	if err != nil {
		return nil, err
	}
	return signed(ctx, cfg.Bus, client, csrPEM, called, certificatesv1.KubeAPIServerClientKubeletSignerName, usages, signer)
}

// requestName returns a name that depends only on the key and the request, so that a request is found again after a
// restart.
func requestName(public crypto.PublicKey, name pkix.Name, usages []certificatesv1.KeyUsage) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("encode the public key: %w", err)
	}
	parts := [][]byte{der, []byte(name.CommonName)}
	for _, o := range name.Organization {
		parts = append(parts, []byte(o))
	}
	for _, u := range usages {
		parts = append(parts, []byte(u))
	}
	hash := sha512.New512_256()
	for _, p := range parts {
		hash.Write([]byte(base64.RawURLEncoding.EncodeToString(p) + "|"))
	}
	return "node-csr-" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)), nil
}

// writeKubeconfig writes a kubeconfig for the bootstrap's server with the certificate in pemPath.
func writeKubeconfig(boot *rest.Config, path, pemPath string) error {
	cluster := &clientcmdapi.Cluster{Server: boot.Host, InsecureSkipTLSVerify: boot.Insecure, CertificateAuthority: boot.CAFile, TLSServerName: boot.ServerName}
	if boot.CAFile == "" {
		cluster.CertificateAuthorityData = boot.CAData
	}
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"default-cluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"default-auth": {ClientCertificate: pemPath, ClientKey: pemPath}},
		Contexts:       map[string]*clientcmdapi.Context{"default-context": {Cluster: "default-cluster", AuthInfo: "default-auth", Namespace: "default"}},
		CurrentContext: "default-context",
	}, path)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}
