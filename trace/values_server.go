package trace

// ServerName is one of the agent's HTTP servers.
type ServerName string

// The servers.
const (
	ServerHTTPS    ServerName = "https"     // port 10250, with authentication
	ServerReadOnly ServerName = "read-only" // the read-only port
	ServerHealthz  ServerName = "healthz"   // the health port
)

// Credential is how a client showed who it is.
type Credential string

// The credentials.
const (
	CredentialX509      Credential = "x509"      // a client certificate
	CredentialToken     Credential = "token"     // a bearer token, which the API server reviewed
	CredentialAnonymous Credential = "anonymous" // none: the client is system:anonymous
)

// AccessVerdict is whether a request may be served.
type AccessVerdict string

// The verdicts on requests.
const (
	AccessAllowed         AccessVerdict = "allowed"         // the client may
	AccessUnauthenticated AccessVerdict = "unauthenticated" // it is not known who the client is
	AccessForbidden       AccessVerdict = "forbidden"       // the client may not
	AccessError           AccessVerdict = "error"           // it could not be decided
)
