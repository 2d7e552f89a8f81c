package trace

// ServerName is one of the agent's servers.
type ServerName string

// The servers.
const (
	ServerHTTPS    ServerName = "https"     // port 10250, with authentication
	ServerReadOnly ServerName = "read-only" // the read-only port
	ServerHealthz  ServerName = "healthz"   // the health port

	// Local sockets, which speak gRPC: the path of a request is its service and method, the code is the corresponding HTTP status.
	ServerPodResources ServerName = "podresources" // the devices, CPUs and memory of pods
	ServerPods         ServerName = "pods"         // the pods of the node
)

// CodeCanceled is the [ServerRequest.Code] of a stream that its client ended: it is no failure.
const CodeCanceled = 499

// Credential is the kind of credential of a client.
type Credential string

// The credentials.
const (
	CredentialX509      Credential = "x509"      // a client certificate
	CredentialToken     Credential = "token"     // a bearer token that the API server verified
	CredentialAnonymous Credential = "anonymous" // none: the client is system:anonymous
)

// AccessVerdict is the result of authentication and authorization.
type AccessVerdict string

// The verdicts on requests.
const (
	AccessAllowed         AccessVerdict = "allowed"         // the client is authorized
	AccessUnauthenticated AccessVerdict = "unauthenticated" // the client is not authenticated
	AccessForbidden       AccessVerdict = "forbidden"       // the client is not authorized
	AccessError           AccessVerdict = "error"           // the check failed
)
