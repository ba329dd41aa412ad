package llamacpp

import (
	"context"
	"encoding/json"

	"sakur4/boundary"
)

// Render returns the exact prompt text of a request (/apply-template). A history that the template refuses is an [*APIError].
func (c *Client) Render(ctx context.Context, req boundary.RenderRequest) (string, error) {
	var f fields
	f.add("messages", req.Messages)
	f.add("tools", req.Tools)
	f.add("chat_template_kwargs", req.TemplateKwargs)
	if !req.GenerationPrompt {
		f.add("add_generation_prompt", json.RawMessage("false"))
	}
	f.addText("model", c.opts.Model)
	var out struct {
		Prompt string `json:"prompt"`
	}
	if err := c.call(ctx, "/apply-template", f.body(), &out); err != nil {
		return "", err
	}
	return out.Prompt, nil
}
