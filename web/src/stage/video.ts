// A video of one turn around the scene, encoded by the browser and written as WebM.

import { ArrayBufferTarget, Muxer } from "webm-muxer";

const SECONDS = 5;
const FRAMES_PER_SECOND = 24;
const BITS_PER_PIXEL = 0.3; // no visible artefacts on smooth surfaces
const MAX_QUEUE = 4; // frames that wait for the encoder; each is as large as the canvas

/**
 * Record a canvas while the camera goes around once. `draw` rotates the camera by an angle in
 * radians and draws at once; `onProgress` gets the share that is done. Frames have explicit times, so
 * the video is as long and as smooth if drawing or encoding is slow.
 */
export async function recordTurn(
  canvas: HTMLCanvasElement,
  draw: (yaw: number) => void,
  onProgress: (share: number) => void,
): Promise<Blob> {
  if (!("VideoEncoder" in globalThis)) throw new Error("this browser cannot encode a video");
  const { width, height } = canvas;
  const count = SECONDS * FRAMES_PER_SECOND;
  const target = new ArrayBufferTarget();
  const muxer = new Muxer({ target, video: { codec: "V_VP9", width, height } });
  let failure: Error | undefined;
  const encoder = new VideoEncoder({
    output: (chunk, meta) => muxer.addVideoChunk(chunk, meta),
    error: (error) => (failure = error),
  });
  try {
    encoder.configure({
      codec: "vp09.00.51.08", // VP9, 8 bits, up to 4K
      width,
      height,
      framerate: FRAMES_PER_SECOND,
      bitrate: width * height * FRAMES_PER_SECOND * BITS_PER_PIXEL,
    });
    for (let frame = 0; frame < count; frame++) {
      onProgress(frame / count);
      do await new Promise(requestAnimationFrame);
      while (encoder.encodeQueueSize >= MAX_QUEUE);
      if (failure) throw failure;
      draw((2 * Math.PI) / count);
      const [timestamp, end] = [frame, frame + 1].map((n) =>
        Math.round((1e6 * n) / FRAMES_PER_SECOND),
      ) as [number, number];
      const picture = new VideoFrame(canvas, { timestamp, duration: end - timestamp });
      encoder.encode(picture, { keyFrame: frame % FRAMES_PER_SECOND === 0 });
      picture.close();
    }
    await encoder.flush();
  } catch (error) {
    throw failure ?? error;
  } finally {
    if (encoder.state !== "closed") encoder.close();
  }
  muxer.finalize();
  return new Blob([target.buffer], { type: "video/webm" });
}
