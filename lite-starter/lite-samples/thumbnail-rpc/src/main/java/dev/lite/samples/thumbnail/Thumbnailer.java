package dev.lite.samples.thumbnail;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.api.RpcHandlerException;
import dev.lite.boot.LtRpcHandler;
import java.awt.image.BufferedImage;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** Makes thumbnails, two at a time. */
@Service
@Profile("thumbnailer")
class Thumbnailer {

    private static final int WIDTH_MAX = 256; // so that the reply fits into 64 KiB

    private final Lite lite;

    Thumbnailer(Lite lite) {
        this.lite = lite;
    }

    /** The request has only the id of the LMR. The photo comes from the memory, wherever in the cluster it lies. */
    @LtRpcHandler(value = "thumbnails/make", concurrency = 2)
    Thumbnail make(Photo photo) {
        if (photo.width() < 1 || photo.width() > WIDTH_MAX) {
            throw new RpcHandlerException(
                    "the width of the thumbnail is %d; it must be 1 to %d".formatted(photo.width(), WIDTH_MAX));
        }
        byte[] png = new byte[photo.bytes()];
        try (LmrHandle memory = lite.memory().map(photo.lmr(), Permission.READ)) {
            memory.read(0, png);
        }
        BufferedImage thumbnail = Pictures.scale(Pictures.decode(png), photo.width());
        return new Thumbnail(Pictures.encode(thumbnail, "jpeg"), lite.nodeName());
    }
}
