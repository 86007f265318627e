package sidecar

// pipelines are the libraries from which diffusers takes components, and the packages of
// its own pipelines, in 0.35 and 0.42.
var pipelines = map[string]bool{
	"diffusers": true, "transformers": true, "optimum": true, "onnxruntime": true, "onnxruntime.training": true, "k_diffusion": true, "peft": true,
	"null":     true,
	"ace_step": true, "allegro": true, "amused": true, "animatediff": true, "anyflow": true, "audioldm": true, "audioldm2": true, "aura_flow": true,
	"blip_diffusion": true, "bria": true, "bria_fibo": true, "bria_fibo2": true, "chroma": true, "chronoedit": true, "cogvideo": true, "cogview3": true,
	"cogview4": true, "consisid": true, "consistency_models": true, "controlnet": true, "controlnet_hunyuandit": true, "controlnet_sd3": true,
	"controlnet_xs": true, "cosmos": true, "dance_diffusion": true, "ddim": true, "ddpm": true, "deepfloyd_if": true, "deprecated": true,
	"diffusion_gemma": true, "dit": true, "dreamlite": true, "easyanimate": true, "ernie_image": true, "flux": true, "flux2": true, "glm_image": true,
	"helios": true, "hidream_image": true, "hunyuan_image": true, "hunyuan_video": true, "hunyuan_video1_5": true, "hunyuandit": true,
	"i2vgen_xl": true, "ideogram4": true, "joyimage": true, "kandinsky": true, "kandinsky2_2": true, "kandinsky3": true, "kandinsky5": true,
	"kandinsky6": true, "kolors": true, "krea2": true, "latent_consistency_models": true, "latent_diffusion": true, "latte": true, "ledits_pp": true,
	"llada2": true, "longcat_audio_dit": true, "longcat_image": true, "ltx": true, "ltx2": true, "lucy": true, "lumina": true, "lumina2": true,
	"marigold": true, "mochi": true, "motif_video": true, "musicldm": true, "nucleusmoe_image": true, "omnigen": true, "ovis_image": true, "pag": true,
	"paint_by_example": true, "pia": true, "pixart_alpha": true, "prx": true, "qwenimage": true, "qwenimage21": true, "rfd4_proteina": true,
	"sana": true, "sana_video": true, "sana_wm": true, "semantic_stable_diffusion": true, "shap_e": true, "skyreels_v2": true, "stable_audio": true,
	"stable_audio_3": true, "stable_cascade": true, "stable_diffusion": true, "stable_diffusion_3": true, "stable_diffusion_attend_and_excite": true,
	"stable_diffusion_diffedit": true, "stable_diffusion_gligen": true, "stable_diffusion_k_diffusion": true, "stable_diffusion_ldm3d": true,
	"stable_diffusion_panorama": true, "stable_diffusion_safe": true, "stable_diffusion_sag": true, "stable_diffusion_xl": true,
	"stable_video_diffusion": true, "t2i_adapter": true, "text_to_video_synthesis": true, "unclip": true, "unidiffuser": true, "visualcloze": true,
	"wan": true, "wuerstchen": true, "z_image": true,
}
