#include "Containers.h"

#include <QFile>

/// How long a reading of the table is used, in milliseconds.
static constexpr qint64 tableMilliseconds = 1000;

/// Decodes `\040` and similar escapes of bytes that would end a field; see proc_pid_mountinfo(5).
static QByteArray unescaped(const QByteArray &field)
{
    QByteArray text;
    for (int at = 0; at < field.size(); ++at) {
        bool isNumber = false;
        const int number = field[at] == '\\' ? field.mid(at + 1, 3).toInt(&isNumber, 8) : 0;
        text.append(isNumber ? static_cast<char>(number) : field[at]);
        if (isNumber) {
            at += 3;
        }
    }
    return text;
}

void Containers::read()
{
    m_mounts.clear();
    m_age.start();
    QFile table(QStringLiteral("/proc/self/mountinfo"));
    if (!table.open(QIODevice::ReadOnly)) {
        return;
    }
    const QList<QByteArray> lines = table.readAll().split('\n');
    for (const QByteArray &line : lines) {
        const QList<QByteArray> fields = line.split(' ');
        const int dash = fields.indexOf("-", 6);
        if (dash < 0 || fields.size() <= dash + 1) {
            continue;
        }
        m_mounts.append({QFile::decodeName(unescaped(fields[4])), fields[dash + 1] == "fuse.dewpoint"});
    }
}

bool Containers::contain(const QString &path)
{
    if (!m_age.isValid() || m_age.hasExpired(tableMilliseconds)) {
        read();
    }
    const Mount *found = nullptr;
    for (const Mount &mount : qAsConst(m_mounts)) {
        const QString directory = mount.point == QLatin1String("/") ? QString() : mount.point;
        const bool isInside = path == directory || path.startsWith(directory + QLatin1Char('/'));
        // A later mount at the same place covers the earlier one.
        if (isInside && (!found || mount.point.size() >= found->point.size())) {
            found = &mount;
        }
    }
    return found && found->isContainer;
}
