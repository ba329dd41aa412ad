package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"

	"sakur4/boundary"
	"sakur4/internal/digest"
)

// Props is what the server says of itself (GET /props). What it does not say is zero.
type Props struct {
	// ContextTokens is the context of one slot, Slots their number.
	ContextTokens, Slots int
	// ModelPath and ModelName name the model, Build the server's version.
	ModelPath, ModelName, Build string
	// ChatTemplate is the template's text, Caps what the server found it to support, such as "supports_tools".
	ChatTemplate string
	Caps         map[string]bool
	// BOS and EOS are the texts of the tokens that begin and end a text.
	BOS, EOS string
	// Vision says that the model takes pictures. Sleeping says that it is unloaded until the next request.
	Vision, Sleeping bool
}

// Props asks the server what it is.
func (c *Client) Props(ctx context.Context) (Props, error) {
	var w struct {
		Settings struct {
			NCtx int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Slots      int             `json:"total_slots"`
		Path       string          `json:"model_path"`
		Alias      string          `json:"model_alias"`
		Template   string          `json:"chat_template"`
		Caps       map[string]bool `json:"chat_template_caps"`
		Build      string          `json:"build_info"`
		BOS        string          `json:"bos_token"`
		EOS        string          `json:"eos_token"`
		Sleeping   bool            `json:"is_sleeping"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if err := c.call(ctx, "/props", nil, &w); err != nil {
		return Props{}, err
	}
	return Props{
		ContextTokens: w.Settings.NCtx, Slots: w.Slots, ModelPath: w.Path, ModelName: w.Alias, Build: w.Build, ChatTemplate: w.Template,
		Caps: w.Caps, BOS: w.BOS, EOS: w.EOS, Vision: w.Modalities.Vision, Sleeping: w.Sleeping,
	}, nil
}

// Profile reports what is known of the server. The first answer is kept until [Client.Refresh]; an error is not kept.
func (c *Client) Profile(ctx context.Context) (boundary.Profile, error) {
	c.mu.Lock()
	known, p := c.known, c.profile
	c.mu.Unlock()
	if known {
		return p, nil
	}
	p, _, err := c.Refresh(ctx)
	return p, err
}

// Refresh asks the server again and reports whether it changed since it was last asked: another build, model, context, tokenizer or template.
// The first answer is no change. It is the only way in which a change is noticed. It takes four short requests while the server names the
// same build, model and template as before, and renders a few chats where it does not.
func (c *Client) Refresh(ctx context.Context) (p boundary.Profile, changed bool, err error) {
	props, err := c.Props(ctx)
	if err != nil {
		return boundary.Profile{}, false, err
	}
	c.mu.Lock()
	var before *boundary.Profile // of the same server
	if c.known && sameTemplate(c.props, props) {
		kept := c.profile
		before = &kept
	}
	c.mu.Unlock()
	p, err = c.probe(ctx, props, before)
	if err != nil {
		return boundary.Profile{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = c.known && !reflect.DeepEqual(c.profile, p)
	c.profile, c.props, c.known = p, props, true
	return p, changed, nil
}

// sameTemplate reports whether two answers leave no doubt that chats are rendered as before.
func sameTemplate(a, b Props) bool {
	return a.ChatTemplate != "" && a.ChatTemplate == b.ChatTemplate && a.Build == b.Build && a.ModelPath == b.ModelPath && a.ModelName == b.ModelName &&
		a.BOS == b.BOS && a.EOS == b.EOS && maps.Equal(a.Caps, b.Caps)
}

// probe makes a profile. What before says is not asked for again.
func (c *Client) probe(ctx context.Context, props Props, before *boundary.Profile) (p boundary.Profile, err error) {
	p = boundary.Profile{
		Window: props.ContextTokens, Slots: props.Slots, Slot: c.opts.Slot, Name: "llama.cpp", Build: props.Build, Model: props.ModelName,
	}
	if p.Model == "" {
		p.Model = filepath.Base(props.ModelPath)
	}
	p.Geometry, p.Rule = c.geometry(props)
	switch {
	case p.Geometry.Kind != boundary.Unknown || c.opts.Probe == 0:
	case before != nil && before.Geometry.Kind != boundary.Unknown:
		p.Geometry, p.Rule = before.Geometry, before.Rule
	default:
		if p.Geometry, p.Rule, err = c.measure(ctx, props); err != nil {
			return boundary.Profile{}, err
		}
	}
	p.Weights = c.weights(props)
	if p.Tokenizer, err = c.tokenizerID(ctx); err != nil {
		return boundary.Profile{}, err
	}
	if before != nil {
		p.Template = before.Template
		return p, nil
	}
	if p.Template, err = c.probeTemplate(ctx, props); err != nil {
		return boundary.Profile{}, err
	}
	return p, nil
}

// geometry says what shape the cache has, as far as it was given or can be read.
func (c *Client) geometry(props Props) (boundary.Geometry, *boundary.CheckpointRule) {
	given, rule := c.opts.Geometry, c.opts.Rule
	var h header
	if c.local() && filepath.IsAbs(props.ModelPath) {
		if read, err := readHeader(props.ModelPath); err == nil {
			h = read
		}
	}
	if given.Kind != boundary.Unknown {
		if given.Kind != boundary.Points {
			return given, nil
		}
		r := boundary.CheckpointRule{}
		if rule != nil {
			r = *rule
		}
		if r.Window == 0 && !h.Recurrent {
			r.Window = h.Window
		}
		r = r.WithDefaults()
		return given, &r
	}
	if h.Arch != "" {
		return h.geometry(rule, props.Vision)
	}
	if rule != nil {
		// Whoever knows the checkpoint settings knows that the model needs checkpoints.
		r := rule.WithDefaults()
		return boundary.Geometry{Kind: boundary.Points}, &r
	}
	return boundary.Geometry{}, nil
}

// local reports whether the server runs on this machine, so that a path it names is a path here.
func (c *Client) local() bool {
	u, err := url.Parse(c.base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tokenizerProbes are texts on which vocabularies differ: words, case, digits, spaces, scripts and marks.
func tokenizerProbes() []string {
	return []string{
		"The quick brown fox jumps over the lazy dog; getHTTPResponseCode() returned 1234567890.",
		"  \tif (x != nil) {\n\n\t\treturn \"no\";\r\n}\n   \n", "Zażółć gęślą jaźń — 東京都 русский العربية 😀🇩🇪",
	}
}

// tokenizerID names the vocabulary by what it makes of the probes; "" where the server cannot tokenize.
func (c *Client) tokenizerID(ctx context.Context) (string, error) {
	var parts []string
	for _, text := range tokenizerProbes() {
		ids, err := c.Tokens(ctx, text)
		if errors.Is(err, boundary.ErrUnsupported) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		b, err := json.Marshal(ids)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(b))
	}
	return "llama.cpp:" + digest.Fields(parts...).Short(), nil
}
