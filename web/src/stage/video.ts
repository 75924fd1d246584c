// A film of one turn around what is seen, by the browser's own encoder.

import { webmFrom } from "./webm";

const SECONDS = 5;
const FRAMES_A_SECOND = 24;
const BITS_A_PIXEL = 0.3;
/** So many frames may wait for the encoder: each is as large as the canvas. */
const MOST_WAITING = 4;

/**
 * Film a canvas while it is turned once. `draw` turns it by an angle in radians and draws it at
 * once; `tell` hears which share is done. Each frame says itself when it is to be seen, so that the
 * film is as long and as smooth where drawing or encoding takes long.
 */
export async function recordTurn(
  canvas: HTMLCanvasElement,
  draw: (yaw: number) => void,
  tell: (share: number) => void,
): Promise<Blob> {
  if (!("VideoEncoder" in globalThis)) throw new Error("this browser cannot encode a video");
  const { width, height } = canvas;
  const count = SECONDS * FRAMES_A_SECOND;
  const chunks: EncodedVideoChunk[] = [];
  let fault: Error | undefined;
  const encoder = new VideoEncoder({
    output: (chunk) => chunks.push(chunk),
    error: (error) => {
      fault = error;
    },
  });
  try {
    encoder.configure({
      codec: "vp09.00.51.08", // VP9, 8 bits, up to 4K
      width,
      height,
      framerate: FRAMES_A_SECOND,
      bitrate: width * height * FRAMES_A_SECOND * BITS_A_PIXEL,
    });
    for (let frame = 0; frame < count; frame++) {
      tell(frame / count);
      do await new Promise(requestAnimationFrame);
      while (encoder.encodeQueueSize >= MOST_WAITING);
      if (fault) throw fault;
      draw((2 * Math.PI) / count);
      const timestamp = Math.round((1e6 * frame) / FRAMES_A_SECOND);
      const picture = new VideoFrame(canvas, { timestamp });
      encoder.encode(picture, { keyFrame: frame % FRAMES_A_SECOND === 0 });
      picture.close();
    }
    await encoder.flush();
  } catch (error) {
    throw fault ?? error;
  } finally {
    if (encoder.state !== "closed") encoder.close();
  }
  return webmFrom(chunks, width, height, SECONDS);
}
