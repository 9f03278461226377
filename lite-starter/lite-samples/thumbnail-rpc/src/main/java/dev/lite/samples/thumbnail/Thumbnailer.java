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

    private static final int SIDE_MAX = 256; // so that the reply fits into 64 KiB
    private static final int PHOTO_BYTES_MAX = 32 << 20; // what a request may make this process take

    private final Lite lite;

    Thumbnailer(Lite lite) {
        this.lite = lite;
    }

    /** The request has only the id of the LMR. The photo comes from the memory, wherever in the cluster it lies. */
    @LtRpcHandler(value = "thumbnails/make", concurrency = 2)
    Thumbnail make(Photo photo) {
        requireUpTo(SIDE_MAX, "the width of the thumbnail", photo.width());
        requireUpTo(PHOTO_BYTES_MAX, "the number of bytes of the photo", photo.bytes());
        byte[] png = new byte[photo.bytes()];
        try (LmrHandle memory = lite.memory().map(photo.lmr(), Permission.READ)) {
            memory.read(0, png);
        }
        BufferedImage picture = Pictures.decode(png);
        requireUpTo(SIDE_MAX, "the height of the thumbnail", Pictures.scaledHeight(picture, photo.width()));
        BufferedImage thumbnail = Pictures.scale(picture, photo.width());
        return new Thumbnail(Pictures.encode(thumbnail, "jpeg"), lite.nodeName());
    }

    /** Requests come from other services: check them before anything is allocated. */
    private static void requireUpTo(int most, String what, int value) {
        if (value < 1 || value > most) {
            throw new RpcHandlerException("%s is %d; it must be 1 to %d".formatted(what, value, most));
        }
    }
}
